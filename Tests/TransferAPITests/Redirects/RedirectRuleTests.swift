import Glibc
import JSON
import TestSupport
import Testing

/// Rules for a whole chain of redirects: its length, its duration, and the secrets that it must not carry.
@Suite(.serialized, .blocking, .sharing) struct RedirectRuleTests {
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    let parts = request.path.split(separator: "/").map(String.init)
    switch parts.first {
    case "count":  // /count/3 leads to /count/2
      let left = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
      let fields = left > 0 ? [("Location", "/count/\(left - 1)")] : []
      try socket.write(TestOrigin.reply(left > 0 ? "302 Found" : "200 OK", [], fields))
    case "slow":
      usleep(200_000)
      let left = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
      let fields = left > 0 ? [("Location", "/slow/\(left - 1)")] : []
      try socket.write(TestOrigin.reply(left > 0 ? "302 Found" : "200 OK", [], fields))
    case "silent": return try socket.readSome() != nil
    case "toSilent": try socket.write(TestOrigin.reply("302 Found", [], [("Location", "/silent")]))
    default: try socket.write(TestOrigin.reply("200 OK"))
    }
    return true
  }

  init() throws { place = try .ofSuite() }

  /// ExceededMaxRedirects.
  @Test func `twenty redirects are followed and the next is an error`() throws {
    let id = try place.create(origin.url + "/count/20")
    let story = try place.story(of: id)
    #expect(story.filter { $0.type == "task.willPerformHTTPRedirection" }.count == 20)
    #expect(try place.task(id)["response"]?["status"]?.integer == 200)
    #expect(try place.metrics(of: id)["redirectCount"]?.integer == 20)
    let before = origin.requests.count
    let tooMany = try place.create(origin.url + "/count/21")
    let events = try place.story(of: tooMany).map(\.type)
    #expect(events.filter { $0 == "task.willPerformHTTPRedirection" }.count == 20)
    let task = try place.task(tooMany)
    #expect(task.errorCode == -1007 && task["error"]?["name"]?.string == "httpTooManyRedirects")
    #expect(task["error"]?["failingURL"]?.string == origin.url + "/count/1")
    #expect(task["response"]?["status"]?.integer == 302 && task["body"] == .null)
    #expect(origin.requests.count - before == 21)
  }

  /// ChainInheritsTimeoutInterval: the interval starts again with each hop.
  @Test func `every redirect has the timeout of the first request`() throws {
    let chain = try place.create(origin.url + "/slow/11", request: #","timeoutInterval":2"#)
    let story = try place.story(of: chain)
    let hops = story.filter { $0.type == "task.willPerformHTTPRedirection" }
    #expect(hops.count == 11 && hops.allSatisfy { $0.data["request"]?["timeoutInterval"]?.double == 2 })
    #expect(try place.task(chain)["error"] == .null)
    let hanging = try place.run(origin.url + "/toSilent", request: #","timeoutInterval":0.3"#)
    #expect(hanging.errorCode == -1001)
    #expect(hanging["error"]?["failingURL"]?.string == origin.url + "/silent")
    #expect(hanging["currentRequest"]?["timeoutInterval"]?.double == 0.3)
    // The same holds for the session's interval. `timeoutIntervalForResource` limits the whole chain.
    let impatient = try place.session(#"{"timeoutIntervalForRequest":0.3}"#)
    #expect(try place.run(origin.url + "/toSilent", session: impatient).errorCode == -1001)
    let short = try place.session(#"{"timeoutIntervalForResource":1}"#)
    let late = try place.run(origin.url + "/slow/50", session: short)
    #expect(late.errorCode == -1001)
    #expect(late["error"]?["message"]?.string?.contains("timeoutIntervalForResource") == true)
  }

  private static let secrets = ["Authorization", "Cookie", "Proxy-Authorization"]
  private static let fields = (secrets + ["X-Other"]).map { #""\#($0)":"secret""# }.joined(separator: ",")

  /// URLSession on Linux forwards Authorization to another origin (swift-corelibs-foundation, HTTPURLProtocol.swift).
  @Test(arguments: [301, 302, 303, 307, 308], [true, false])
  func `secret header fields stay at their origin`(_ status: Int, _ isOfTheSession: Bool) throws {
    let other = TestOrigin { request, socket in
      let back = request.path == "/back" ? [("Location", request["X-Back"] ?? "/")] : []
      try socket.write(TestOrigin.reply(back.isEmpty ? "200 OK" : "\(status) Moved", [], back))
      return true
    }
    let first = TestOrigin { request, socket in
      let target = ["/here": "/end", "/there": other.url + "/end", "/round": other.url + "/back"][
        request.path]
      let fields = target.map { [("Location", $0)] } ?? []
      try socket.write(TestOrigin.reply(target == nil ? "200 OK" : "\(status) Moved", [], fields))
      return true
    }
    let back = #""X-Back":"\#(first.url)/end""#
    let session = try place.session(
      isOfTheSession ? #"{"httpAdditionalHeaders":{\#(Self.fields),\#(back)}}"# : "{}")
    let headers = isOfTheSession ? "" : #","headers":{\#(Self.fields),\#(back)}"#
    for path in ["/here", "/there", "/round"] {
      #expect(try place.run(first.url + path, session: session, request: headers)["error"] == .null)
    }
    #expect((first.requests + other.requests).allSatisfy { $0["X-Other"] == "secret" })
    // A redirect within the origin keeps the fields. A redirect to another origin removes them, even if a further
    // redirect returns.
    let kept = first.requests.map { $0["Authorization"] != nil }
    #expect(first.requests.map(\.path) == ["/here", "/end", "/there", "/round", "/end"])
    #expect(kept == [true, true, true, true, false])
    for name in Self.secrets {
      #expect(first.requests.map { $0[name] != nil } == kept, "\(name)")
      #expect(other.requests.allSatisfy { $0[name] == nil }, "\(name)")
    }
    #expect(other.requests.map(\.path) == ["/end", "/back"])
  }

  /// The egress policy checks the address of every hop.
  @Test func `redirect cannot bypass the egress policy`() throws {
    let origin = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("307 Moved", [], [("Location", "http://[::1]:9/")]))
      return true
    }
    let error = try place.run(origin.url)["error"]
    #expect(error?["name"]?.string == "destinationNotPermitted" && error?["rule"]?.string == "loopback")
    #expect(error?["failingURL"]?.string == "http://[::1]:9/")
    withExtendedLifetime(origin) {}
  }
}
