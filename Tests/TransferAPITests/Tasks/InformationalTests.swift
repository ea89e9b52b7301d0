import Glibc
import JSON
import TestSupport
import Testing

/// Informational responses (1xx). URLSession on Linux takes a 1xx for the response.
@Suite(.serialized, .blocking, .sharing) struct InformationalTests {
  private let place: InProcessAPI

  init() throws { place = try .ofSuite() }

  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
  private static let informational = "task.didReceiveInformationalResponse"

  @Test(arguments: ["data", "download"]) func `early hints are events, not the response`(_ kind: String)
    throws
  {
    let origin = TestOrigin { _, socket in
      try socket.write(
        "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nlink: </b.js>\r\n\r\n"
          + Self.ok)
      return true
    }
    let id = try place.create(origin.url, kind: kind)
    let story = try place.story(of: id)
    let hints = story.filter { $0.type == Self.informational }
    #expect(hints.map { $0.data["status"]?.integer } == [102, 103])
    #expect(hints.last?.data["headers"]?["Link"]?.string == "</a.css>, </b.js>")
    let responses = story.filter { $0.type == "dataTask.didReceiveResponse" }
    #expect(responses.map { $0.data["response"]?["status"]?.integer } == (kind == "data" ? [200] : []))
    let order = story.map(\.type).filter { $0 == Self.informational || $0 == "dataTask.didReceiveResponse" }
    #expect(order.prefix(2) == [Self.informational, Self.informational])
    let task = try place.task(id)
    #expect(task["response"]?["status"]?.integer == 200 && task["response"]?["headers"]?["Link"] == nil)
    #expect(task["body"]?["size"]?.integer == 2 && task["error"] == .null)
    withExtendedLifetime(origin) {}
  }

  @Test func `early hint is reported before the response`() throws {
    let gate = Gate()
    let origin = TestOrigin { _, socket in
      try socket.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
      gate.wait()
      try socket.write(Self.ok)
      return true
    }
    let id = try place.create(origin.url)
    let events = try place.events("/v1/tasks/\(id)/events?after=0&progress=false")
    #expect(try events.read(upTo: Self.informational).last?.data["status"]?.integer == 103)
    #expect(try place.task(id)["response"] == .null)
    gate.open()
    #expect(try events.read(upTo: "task.didComplete").last?.data["status"]?.integer == 200)
    withExtendedLifetime(origin) {}
  }

  @Test func `two hundred continues are accepted`() throws {
    let origin = TestOrigin { _, socket in
      for _ in 0..<200 { try socket.write("HTTP/1.1 100 Continue\r\n\r\n") }
      try socket.write(Self.ok)
      return true
    }
    let id = try place.create(origin.url, request: #","method":"POST","body":{"text":"x"}"#)
    let story = try place.story(of: id)
    #expect(story.filter { $0.type == Self.informational }.count == 200)
    #expect(story.filter { $0.type == "dataTask.didReceiveResponse" }.count == 1)
    #expect(try place.task(id)["error"] == .null)
    withExtendedLifetime(origin) {}
  }

  /// libcurl counts 1xx heads towards the limit of a head.
  @Test func `endless informational responses are an error`() throws {
    let origin = TestOrigin { _, socket in
      while true {
        try socket.write("HTTP/1.1 103 Early Hints\r\nX: \(String(repeating: "x", count: 2000))\r\n\r\n")
      }
    }
    let task = try place.run(origin.url)
    #expect(task.errorCode == -1017 && task["response"] == .null)
    withExtendedLifetime(origin) {}
  }

  /// The request's timeout starts again with each 1xx.
  @Test func `informational response restarts the timeout`() throws {
    let origin = TestOrigin { _, socket in
      for _ in 0..<10 {
        usleep(200_000)
        try socket.write("HTTP/1.1 102 Processing\r\n\r\n")
      }
      try socket.write(Self.ok)
      return true
    }
    #expect(try place.run(origin.url, request: #","timeoutInterval":1.6"#)["error"] == .null)
    withExtendedLifetime(origin) {}
  }
}
