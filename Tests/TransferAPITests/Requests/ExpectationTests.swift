import Foundation
import JSON
import TestSupport
import Testing

/// A client's own `Expect`, with servers that do not support it (RFC 9110 §10.1.1).
@Suite(.serialized, .blocking, .sharing) struct ExpectationTests {
  private let place: InProcessAPI
  private let origin: TestOrigin
  private static let size = 300_000

  init() throws {
    place = try .ofSuite()
    origin = TestOrigin(readsBodies: false) { request, socket in
      guard request["Expect"] == nil, request.path != "/never" else {
        try socket.write(
          TestOrigin.reply("417 Expectation Failed", Array("no".utf8), [("Connection", "close")]))
        socket.shutdownWrites()
        while try socket.readSome() != nil {}
        return false
      }
      let body = try TestOrigin.read(bodyOf: request, from: socket)
      try socket.write(
        TestOrigin.reply("200 OK", Array("\(body == Pattern.bytes(body.count)) \(body.count)".utf8)))
      return true
    }
  }

  private func request(
    _ size: Int, isFile: Bool, method: String = "POST", expect: String? = "100-Continue"
  ) throws -> String {
    let bytes = Pattern.bytes(size)
    let body =
      try isFile
      ? #"{"file":"\#(place.store(bytes))"}"# : #"{"base64":"\#(Data(bytes).base64EncodedString())"}"#
    let headers = expect.map { #","headers":{"Expect":"\#($0)"}"# } ?? ""
    return #","method":"\#(method)","body":\#(body)\#(headers)"#
  }

  @Test(arguments: [(10, false), (size, false), (size, true)], ["data", "upload"])
  func refusedExpectationIsLeftOut(_ body: (size: Int, isFile: Bool), _ kind: String) throws {
    for method in ["POST", "PUT"] {
      let sent = origin.requests.count
      let id = try place.create(
        origin.url, kind: kind, request: request(body.size, isFile: body.isFile, method: method))
      let task = try place.end(of: id)
      #expect(task["error"] == .null && task.status == 200)
      #expect(try place.call("GET", "/v1/tasks/\(id)/body").text == "true \(body.size)")
      #expect(task["progress"]?["countOfBytesSent"]?.integer == Int64(body.size))
      #expect(origin.requests.dropFirst(sent).map { $0["Expect"] } == ["100-Continue", nil])
    }
  }

  @Test func expectationOfTheSessionIsLeftOut() throws {
    let session = try place.session(#"{"httpAdditionalHeaders":{"Expect":"100-continue"}}"#)
    let task = try place.run(
      origin.url, kind: "data", session: session, request: request(Self.size, isFile: true, expect: nil))
    #expect(task.status == 200 && origin.requests.map { $0["Expect"] } == ["100-continue", nil])
  }

  @Test func `second refusal is the response`() throws {
    let task = try place.run(origin.url + "/never", kind: "data", request: request(Self.size, isFile: true))
    #expect(task["error"] == .null && task.status == 417)
    #expect(try place.call("GET", "/v1/tasks/\(task.id)/body").text == "no")
    #expect(origin.requests.map { $0["Expect"] } == ["100-Continue", nil])
  }

  /// Ferry does not drop an `Expect` that it does not know. Without an `Expect` there is nothing to drop.
  @Test(arguments: ["later", nil] as [String?]) func `other refusal is delivered`(_ expect: String?) throws {
    let task = try place.run(
      origin.url + "/never", kind: "data", request: request(10, isFile: false, expect: expect))
    #expect(task.status == 417 && origin.requests.count == 1)
  }
}
