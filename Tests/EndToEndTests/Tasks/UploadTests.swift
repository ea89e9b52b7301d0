import Foundation
import JSON
import TestSupport
import Testing

/// Requests with bodies: the bytes on the wire for each source of a body.
@Suite(.serialized, .blocking, .sharing) struct UploadTests {
  private let ferry: FerryProcess
  private let origin = TestOrigin { request, socket in
    let status = request.path.dropFirst()
    guard let code = Int(status) else {
      try socket.write(TestOrigin.reply("201 Created", Array("stored".utf8)))
      return true
    }
    try socket.write(TestOrigin.reply("\(code) Elsewhere", Array("moved".utf8), [("Location", "/target")]))
    return true
  }

  init() throws { ferry = try .ofSuite() }

  /// The form in which the client supplies a body.
  enum Source: String, CaseIterable, Sendable { case text, base64, file, stream, streamOfKnownLength }

  /// Runs an upload of text to its end.
  /// - Parameter members: further members of the request, each after a comma.
  private func upload(
    _ text: String, from source: Source, to url: String, method: String, kind: String = "upload",
    members: String = ""
  ) throws -> JSONValue {
    let body =
      switch source {
      case .text: #"{"text":"\#(text)"}"#
      case .base64: #"{"base64":"\#(Data(text.utf8).base64EncodedString())"}"#
      case .file: #"{"file":"\#(try ferry.store(Array(text.utf8)))"}"#
      case .stream, .streamOfKnownLength: #"{"stream":true}"#
      }
    let request = #","method":"\#(method)","body":\#(body)\#(members)"#
    let session = body.contains("stream") ? try ferry.session(delegate: "{}") : "ses_shared"
    let id = try ferry.create(url, kind: kind, session: session, request: request)
    if source == .stream || source == .streamOfKnownLength {
      #expect(try ferry.put(Array(text.utf8), to: id, isChunked: source == .stream).status == 204)
    }
    return try ferry.end(of: id)
  }

  /// Modelled on Foundation's tests `dataTaskWithHttpInputStream` and `requestWithNonEmptyBody`: all methods that take a
  /// body, with and without a content type.
  @Test(arguments: Source.allCases) func `body and header fields arrive unchanged`(_ source: Source) throws {
    let text = "naïve text, 24 bytes ok"
    let size = text.utf8.count
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
      for type in ["text/plain; charset=utf-8", nil] {
        let members = type.map { #","headers":{"Content-Type":"\#($0)"}"# } ?? ""
        let task = try upload(text, from: source, to: origin.url + "/", method: method, members: members)
        let request = try #require(origin.requests.last)
        let at: Comment = "\(method) \(type ?? "-")"
        #expect(task["error"] == .null && task["response"]?["status"]?.integer == 201, at)
        #expect(request.method == method && request.body == Array(text.utf8), at)
        let own = source == .file ? "application/octet-stream" : method == "POST" ? Self.form : nil
        #expect(request["Content-Type"] == type ?? own, at)
        #expect(request["Content-Length"] == (source == .stream ? nil : "\(size)"), at)
        #expect(request["Transfer-Encoding"] == (source == .stream ? "chunked" : nil), at)
        #expect(request["Expect"] == nil, at)
        #expect(task["progress"]?["countOfBytesSent"]?.integer == Int64(size), at)
        #expect(
          task["progress"]?["countOfBytesExpectedToSend"]?.integer == (source == .stream ? -1 : Int64(size)),
          at)
      }
    }
    #expect(origin.requests.count == 8)
  }
  private static let form = "application/x-www-form-urlencoded"

  /// A stored file's type applies if neither the request nor the session sets another.
  @Test func `stored file is sent with its type`() throws {
    let typed = try ferry.call("POST", "/v1/files", "a,b", [("Content-Type", "text/csv")]).json.id
    let bare = try ferry.client().send("POST", "/v1/files", Array("a,b".utf8), []).json.id
    let session = try ferry.session(#"{"httpAdditionalHeaders":{"content-type":"x/session"}}"#)
    for method in ["POST", "PUT"] {
      func sent(_ file: String, session: String = "ses_shared", fields: String = "") throws -> String? {
        let body = #","method":"\#(method)","body":{"file":"\#(file)"},"headers":{\#(fields)}"#
        let task = try ferry.run(origin.url + "/", kind: "upload", session: session, request: body)
        #expect(task["error"] == .null)
        return origin.requests.last?["Content-Type"]
      }
      #expect(try sent(typed) == "text/csv")
      #expect(try sent(bare) == "application/octet-stream")
      #expect(try sent(bare, fields: #""Content-Type":"x/own""#) == "x/own")
      #expect(try sent(bare, session: session) == "x/session")
      #expect(try sent(typed, fields: #""Content-Type":"x/own""#) == "x/own")
      #expect(try sent(typed, session: session) == "x/session")
    }
  }

  /// After Foundation's tests `requestWithEmptyBody` and `postWithEmptyBody`: an empty body has no content type.
  @Test(arguments: [Source.text, .base64, .file, .streamOfKnownLength, nil])
  func `empty body has no content type`(_ source: Source?) throws {
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
      if let source {
        let task = try upload("", from: source, to: origin.url + "/", method: method)
        #expect(task["error"] == .null && task["progress"]?["countOfBytesSent"]?.integer == 0, "\(method)")
      } else {
        _ = try ferry.run(origin.url + "/", kind: "data", request: #","method":"\#(method)""#)
      }
      let request = try #require(origin.requests.last)
      #expect(request.method == method && request.body.isEmpty, "\(method)")
      if source != .streamOfKnownLength { #expect(request["Content-Type"] == nil, "\(method)") }
      #expect(request["Transfer-Encoding"] == nil, "\(method)")
      let isBare = source == nil && method == "DELETE"
      #expect(request["Content-Length"] == (isBare ? nil : "0"), "\(method)")
    }
  }

  /// After Foundation's test `dataTaskWithHttpInputStream`: a GET with a body fails before it is sent.
  @Test(arguments: ["data", "download", "upload"], ["GET", "HEAD"])
  func `GET or HEAD with a body fails`(_ kind: String, _ method: String) throws {
    let file = try ferry.store([120])
    for body in [#"{"text":"x"}"#, #"{"base64":"eA=="}"#, #"{"file":"\#(file)"}"#, #"{"stream":true}"#] {
      let session = try ferry.session(delegate: "{}")
      let request = #","method":"\#(method)","body":\#(body)"#
      let task = try ferry.run(origin.url + "/", kind: kind, session: session, request: request)
      #expect(task.errorCode == -1103 && task["error"]?["name"]?.string == "dataLengthExceedsMaximum")
      #expect(task["error"]?["message"]?.string?.contains(method) == true)
    }
    #expect(origin.requests.isEmpty)
  }

  /// The connection stays usable, because the response to HEAD has no body.
  @Test(arguments: ["data", "download", "upload"], ["GET", "HEAD"])
  func `GET or HEAD with an empty body has none`(_ kind: String, _ method: String) throws {
    let empty = try ferry.store([])
    let session = try ferry.session(FerryProcess.uncached)
    for body in [#"{"text":""}"#, #"{"base64":""}"#, #"{"file":"\#(empty)"}"#] {
      let request = #","method":"\#(method)","body":\#(body)"#
      let task = try ferry.run(origin.url + "/204", kind: kind, session: session, request: request)
      #expect(task["error"] == .null && task.status == 204, "\(body)")
      let sent = try #require(origin.requests.last)
      #expect(sent.method == method && sent.body.isEmpty, "\(body)")
      for name in ["Content-Length", "Content-Type", "Transfer-Encoding"] {
        #expect(sent[name] == nil, "\(body) \(name)")
      }
    }
    #expect(origin.requests.count == 3)
  }

  @Test(arguments: ["data", "download"], Source.allCases)
  func `data and download tasks send bodies`(_ kind: String, _ source: Source) throws {
    let task = try upload("query", from: source, to: origin.url + "/", method: "POST", kind: kind)
    #expect(task["error"] == .null && task["kind"]?.string == kind)
    #expect(origin.requests.map(\.body) == [Array("query".utf8)])
    #expect(try ferry.call("GET", "/v1/tasks/\(task.id)/body").text == "stored")
  }

  /// A body that is sent again after a redirect or in another attempt is counted from zero.
  @Test func `body that is sent again is counted from zero`() throws {
    let bytes = Pattern.bytes(2_000_000)
    let body = #","method":"POST","body":{"base64":"\#(Data(bytes).base64EncodedString())"}"#
    let id = try ferry.create(origin.url + "/307", kind: "upload", request: body, resume: false)
    let events = try ferry.events("/v1/tasks/\(id)/events?after=0")
    try events.catchUp()
    #expect(try ferry.act("resume", id) == "running")
    let sent = try events.read(upTo: "task.didComplete").filter { $0.type == "task.didSendBodyData" }
    var total: Int64 = 0
    for event in sent {
      let (delta, now) = (event.data["bytesSent"]?.integer ?? 0, event.data["totalBytesSent"]?.integer ?? 0)
      #expect(now == total + delta || now == delta)
      total = now
    }
    #expect(total == 2_000_000)
    #expect(sent.reduce(0) { $0 + ($1.data["bytesSent"]?.integer ?? 0) } == 4_000_000)
  }

  /// After Foundation's test `simpleUploadWithDelegate`: the last `totalBytesSent` is the size of the body.
  @Test(arguments: [Source.base64, .file, .stream, .streamOfKnownLength])
  func `large bodies arrive exactly`(_ source: Source) throws {
    let bytes = Pattern.bytes(5_000_000)
    let body =
      switch source {
      case .file: #"{"file":"\#(try ferry.store(bytes))"}"#
      case .base64, .text: #"{"base64":"\#(Data(bytes).base64EncodedString())"}"#
      case .stream, .streamOfKnownLength: #"{"stream":true}"#
      }
    let id = try ferry.create(
      origin.url + "/", kind: "upload", session: try ferry.session(delegate: "{}"),
      request: #","method":"PUT","body":\#(body)"#, resume: false)
    let events = try ferry.events("/v1/tasks/\(id)/events?after=0")
    try events.catchUp()
    #expect(try ferry.act("resume", id) == "running")
    if body.contains("stream") {
      #expect(try ferry.put(bytes, to: id, isChunked: source == .stream).status == 204)
    }
    let sent = try events.read(upTo: "task.didComplete").filter { $0.type == "task.didSendBodyData" }
    let totals = sent.compactMap { $0.data["totalBytesSent"]?.integer }
    #expect(totals.last == 5_000_000 && totals == totals.sorted() && sent.allSatisfy { $0.id == nil })
    #expect(sent.reduce(0) { $0 + ($1.data["bytesSent"]?.integer ?? 0) } == 5_000_000)
    let expected: Int64 = source == .stream ? -1 : 5_000_000
    #expect(sent.allSatisfy { $0.data["totalBytesExpectedToSend"]?.integer == expected })
    let progress = try ferry.task(id)["progress"]
    #expect(progress?["countOfBytesSent"]?.integer == 5_000_000)
    #expect(progress?["countOfBytesExpectedToSend"]?.integer == expected)
    #expect(origin.requests.count == 1 && origin.requests.first?.body == bytes)
  }

  // MARK: Redirects

  /// Foundation on Linux drops the request body at 307 and 308. See its tests `httpRedirectionWithCode305_308` and
  /// `dataTaskWithHTTPBodyRedirect`.
  @Test(arguments: [307, 308], [Source.text, .base64, .file])
  func `redirect that keeps the method sends the body again`(_ code: Int, _ source: Source) throws {
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
      let task = try upload("again", from: source, to: origin.url + "/\(code)", method: method)
      #expect(task["error"] == .null && task["response"]?["status"]?.integer == 201)
      let requests = origin.requests.suffix(2)
      #expect(requests.map(\.path) == ["/\(code)", "/target"])
      #expect(
        requests.allSatisfy { $0.method == method && String(decoding: $0.body, as: UTF8.self) == "again" })
      #expect(requests.allSatisfy { $0["Content-Length"] == "5" })
      #expect(requests.first?["Content-Type"] == requests.last?["Content-Type"])
      #expect(task["currentRequest"]?["method"]?.string == method)
    }
  }

  /// The file is larger than one buffer, and no byte that was already read may be missing.
  @Test func `large file is sent again from its beginning`() throws {
    let bytes = Pattern.bytes(1_500_000)
    let body = #","method":"PUT","body":{"file":"\#(try ferry.store(bytes))"}"#
    let task = try ferry.run(origin.url + "/307", kind: "upload", request: body)
    #expect(task["error"] == .null)
    #expect(origin.requests.map(\.body) == [bytes, bytes])
  }

  /// After Foundation's tests of 301, 302 and 303: a POST becomes a GET.
  @Test(arguments: [301, 302, 303], Source.allCases)
  func `redirect to GET drops the body`(_ code: Int, _ source: Source) throws {
    let task = try upload("once", from: source, to: origin.url + "/\(code)", method: "POST")
    #expect(task["error"] == .null && task["currentRequest"]?["body"] ?? .null == .null)
    #expect(origin.requests.map(\.method) == ["POST", "GET"])
    #expect(origin.requests.first?.body == Array("once".utf8))
    let last = try #require(origin.requests.last)
    #expect(last.body.isEmpty && last["Content-Length"] == nil && last["Transfer-Encoding"] == nil)
    #expect(last["Content-Type"] == nil)
  }
}
