import HTTPFields
import JSON
import Testing
import TransferCore
import TransferModel
import TransferService

@testable import TransferAPI

@Suite struct TaskPayloadTests {
  private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

  private static let file = "fil_01923456-789a-7bcd-8ef0-123456789abc"

  private func read(
    _ text: String, in background: TransferSession? = nil
  ) throws(Problem) -> TaskSpecification {
    let value: JSONValue
    do { value = try JSONParser.parse(Array(text.utf8)) } catch { throw Problem(error) }
    return try TaskPayload.specification(value, background: background) { data in
      guard data == "good" else { return nil }
      return TaskSpecification(kind: .download, request: TransferRequest(url: "http://resumed/"))
    }
  }

  private func pointers(_ text: String) throws -> [String] {
    let problem = try #require(throws: Problem.self) { try read(text) }
    #expect(problem.kind == .invalidRequest)
    return problem.violations.map(\.pointer)
  }

  @Test func `minimal task has the defaults`() throws {
    let task = try read(#"{"kind":"data","request":{"url":"http://a/"}}"#)
    let nulls =
      #"{"kind":"data","request":{"url":"http://a/","body":null,"mainDocumentURL":null},"completion":null}"#
    #expect(try read(nulls).request == task.request)
    #expect(task.kind == .data)
    #expect(task.request == TransferRequest(url: "http://a/"))
    #expect(task.resume == false)
    #expect(task.priority == 0.5)
    #expect(task.description == nil)
    #expect(task.completion == nil)
  }

  @Test(arguments: [
    ("get", "GET"), ("Head", "HEAD"), ("options", "OPTIONS"), ("patch", "patch"), ("X-y", "X-y"),
  ])
  func `standard methods are accepted in any case`(_ method: String, _ expected: String) throws {
    let task = try read(#"{"kind":"data","request":{"url":"http://a/","method":"\#(method)"}}"#)
    #expect(task.request.method == expected)
  }

  @Test func `preferences of a task are read and checked`() throws {
    let plain = try read(
      #"{"kind":"upload","delegate":null,"request":{"url":"http://a/","body":{"text":"x"}}}"#)
    #expect(
      plain.preferences.countOfBytesClientExpectsToSend == -1
        && plain.preferences.countOfBytesClientExpectsToReceive == -1)
    #expect(plain.preferences.prefersIncrementalDelivery && plain.preferences.delegate == nil)
    let task = try read(
      #"""
      {"kind":"data","request":{"url":"http://a/"},"countOfBytesClientExpectsToSend":0,
       "countOfBytesClientExpectsToReceive":1125899906842624,"prefersIncrementalDelivery":false,
       "delegate":{"redirects":"ask"}}
      """#)
    #expect(
      task.preferences.countOfBytesClientExpectsToSend == 0
        && task.preferences.countOfBytesClientExpectsToReceive == 1 << 50)
    #expect(
      !task.preferences.prefersIncrementalDelivery
        && task.preferences.delegate?.overriding(nil).asksForRedirects == true)
    let download = #""kind":"download","request":{"url":"http://a/"}"#
    #expect(try !read("{\(download)}").preferences.prefersIncrementalDelivery)
    #expect(
      try !read(#"{\#(download),"prefersIncrementalDelivery":false}"#).preferences.prefersIncrementalDelivery)
    for (member, place) in [
      (#""prefersIncrementalDelivery":true"#, "/prefersIncrementalDelivery"),
      (#""countOfBytesClientExpectsToSend":-2"#, "/countOfBytesClientExpectsToSend"),
      (#""countOfBytesClientExpectsToSend":1125899906842625"#, "/countOfBytesClientExpectsToSend"),
      (#""countOfBytesClientExpectsToReceive":1.5"#, "/countOfBytesClientExpectsToReceive"),
      (#""delegate":{"redirects":"follow","x":1}"#, "/delegate/x"),
      (#""delegate":{"webhook":{"url":"ftp://a/"}}"#, "/delegate/webhook/url"),
    ] { #expect(try pointers("{\(download),\(member)}") == [place]) }
    let background = TransferSession(
      id: .shared, type: .background, createdAt: Timestamp(microseconds: 0), description: nil,
      configuration: SessionConfiguration(), delegate: SessionDelegate(), identifier: "b")
    let problem = try #require(throws: Problem.self) {
      try read(#"{\#(download),"delegate":{}}"#, in: background)
    }
    #expect(problem.violations.map(\.pointer) == ["/delegate"])
  }

  @Test func `unsupported names are refused with a reason`() throws {
    for (name, reason) in UnsupportedNames.task {
      let problem = try #require(throws: Problem.self) {
        try read(#"{"kind":"data","request":{"url":"http://a/"},"\#(name)":1}"#)
      }
      #expect(problem.violations == [FieldViolation(pointer: "/\(name)", detail: reason)])
      let patch = try #require(throws: Problem.self) {
        _ = try TaskPatchPayload(.object([.init(name: name, value: .bool(true))]))
      }
      #expect(patch.violations == [FieldViolation(pointer: "/\(name)", detail: reason)])
    }
    for (name, reason) in UnsupportedNames.request {
      let problem = try #require(throws: Problem.self) {
        try read(#"{"kind":"data","request":{"url":"http://a/","\#(name)":1}}"#)
      }
      #expect(problem.violations == [FieldViolation(pointer: "/request/\(name)", detail: reason)])
    }
  }

  @Test func `task with all members is read`() throws {
    let task = try read(
      #"""
      {"kind":"download","resume":true,"priority":1,"description":"d","resumeData":null,
       "earliestBeginDate":null,"maximumBytesPerSecond":null,
       "request":{"url":"https://a/","method":"PATCH","headers":{"X-A":"1"},"body":{"text":"é"},
        "timeoutInterval":2.5,
        "cachePolicy":"returnCacheDataDontLoad","httpShouldHandleCookies":false,
        "mainDocumentURL":"https://c/","allowsCellularAccess":false},
       "completion":{"webhook":{"url":"https://b/","secret":"\#(Self.secret)"}}}
      """#)
    #expect(task.kind == .download)
    var request = TransferRequest(
      url: "https://a/", method: "PATCH", headers: HTTPHeaders([.init(name: "X-A", value: "1")]),
      body: .data(Array("é".utf8)), timeoutInterval: 2.5)
    request.cachePolicy = .returnCacheDataDontLoad
    request.httpShouldHandleCookies = false
    request.mainDocumentURL = "https://c/"
    request.networkAccess.allowsCellularAccess = false
    #expect(task.request == request)
    #expect(task.resume)
    #expect(task.priority == 1)
    #expect(task.description == "d")
    #expect(task.completion == Webhook(url: "https://b/", secret: Self.secret))
  }

  @Test(
    arguments: [
      ("null", nil), ("{}", nil), (#"{"text":""}"#, []), (#"{"text":"ab"}"#, [0x61, 0x62]),
      (#"{"base64":"AP8="}"#, [0, 255]),
      (#"{"base64":""}"#, []), (#"{"base64":"AA=="}"#, [0]),
    ] as [(String, [UInt8]?)])
  func `body is read`(_ json: String, _ expected: [UInt8]?) throws {
    #expect(
      try read(#"{"kind":"data","request":{"url":"http://a/","body":\#(json)}}"#).request.body
        == expected.map { .data($0) })
  }

  @Test(arguments: [
    ("{}", ["/kind", "/request"]), (#"{"kind":null,"request":null}"#, ["/kind", "/request"]),
    (#"{"kind":"data"}"#, ["/request"]),
    (#"{"kind":"upload","request":{"url":"http://a/"}}"#, ["/request/body"]),
    (#"{"kind":"upload","request":{"url":"http://a/","body":{}}}"#, ["/request/body"]),
    (#"{"kind":"data","resumeData":"good"}"#, ["/resumeData"]),
    (#"{"kind":"download","resumeData":"good","request":{"url":"http://a/"}}"#, ["/request"]),
    (#"{"kind":"download","resumeData":5}"#, ["/resumeData"]),
    (#"{"kind":"download","resumeData":"bad"}"#, ["/resumeData"]),
    (#"{"kind":"download","resumeData":""}"#, ["/resumeData"]),
    (#"{"kind":"data","resumeData":"bad"}"#, ["/resumeData"]),
    (#"{"kind":"Data","request":{"url":"http://a/"}}"#, ["/kind"]),
    (#"{"kind":1,"request":{"url":"http://a/"}}"#, ["/kind"]),
    (#"{"request":{"url":"http://a/"}}"#, ["/kind"]), (#"{"kind":"data","request":{}}"#, ["/request/url"]),
    ("[]", [""]), ("null", [""]), ("\"x\"", [""]),
  ])
  func requiredFields(_ text: String, _ expected: [String]) throws { #expect(try pointers(text) == expected) }

  @Test(arguments: [
    (#""resume":1"#, ["/resume"]), (#""resume":null,"priority":null"#, ["/resume", "/priority"]),
    (#""completion":{"webhook":null}"#, ["/completion/webhook"]),
    (#""priority":-0.1"#, ["/priority"]), (#""priority":1.1"#, ["/priority"]),
    (#""priority":"0""#, ["/priority"]), (#""description":1"#, ["/description"]),
    (#""earliestBeginDate":"2030-01-01""#, ["/earliestBeginDate"]),
    (#""earliestBeginDate":5"#, ["/earliestBeginDate"]),
    (#""maximumBytesPerSecond":0"#, ["/maximumBytesPerSecond"]), (#""x/y":1"#, ["/x~1y"]),
    (#""completion":[]"#, ["/completion", "/completion/webhook"]),
    (#""completion":{}"#, ["/completion/webhook"]),
    (#""completion":{"x":1,"webhook":{"url":"http://b/"}}"#, ["/completion/x"]),
    (#""completion":{"webhook":{}}"#, ["/completion/webhook/url"]),
    (#""completion":{"webhook":{"url":1}}"#, ["/completion/webhook/url"]),
    (#""completion":{"webhook":{"url":"ftp://b/"}}"#, ["/completion/webhook/url"]),
    (#""completion":{"webhook":{"url":"http://u:p@b/"}}"#, ["/completion/webhook/url"]),
    (#""completion":{"webhook":{"url":"http://b/","secret":"x"}}"#, ["/completion/webhook/secret"]),
    (#""completion":{"webhook":{"url":"http://b/","events":[]}}"#, ["/completion/webhook/events"]),
  ])
  func `invalid member of a task is named`(_ member: String, _ expected: [String]) throws {
    #expect(try pointers(#"{"kind":"data","request":{"url":"http://a/"},\#(member)}"#) == expected)
  }

  @Test(arguments: [
    (#""method":"CONNECT""#, ["method"]), (#""method":"trace""#, ["method"]), (#""method":"""#, ["method"]),
    (#""method":"GE T""#, ["method"]), (#""method":"GET\r\nX:""#, ["method"]), (#""method":1"#, ["method"]),
    (#""headers":[]"#, ["headers"]), (#""headers":{"Host":"b"}"#, ["headers/Host"]),
    (#""headers":{"X":"a\r\nY: b"}"#, ["headers/X"]),
    (#""headers":{"X Y":"a","Z":1}"#, ["headers/X Y", "headers/Z"]),
    (#""headers":{"a/b":"1"}"#, ["headers/a~1b"]), (#""body":"x""#, ["body"]),
    (#""body":{"text":1}"#, ["body/text"]),
    (#""body":{"base64":"x"}"#, ["body/base64"]), (#""body":{"base64":1}"#, ["body/base64"]),
    (#""body":{"file":"/etc/passwd"}"#, ["body/file"]), (#""body":{"stream":false}"#, ["body/stream"]),
    (#""body":{"stream":true,"text":"a"}"#, ["body"]), (#""body":{"size":5}"#, ["body/size"]),
    (#""body":{"json":{}}"#, ["body/json"]), (#""body":{"text":"a","base64":"AA=="}"#, ["body"]),
    (#""timeoutInterval":0"#, ["timeoutInterval"]), (#""timeoutInterval":"1""#, ["timeoutInterval"]),
    (#""cachePolicy":"dontLoad""#, ["cachePolicy"]),
    (#""allowsCellularAccess":0"#, ["allowsCellularAccess"]),
    (#""httpShouldHandleCookies":"no""#, ["httpShouldHandleCookies"]),
    (#""mainDocumentURL":"x""#, ["mainDocumentURL"]),
    (#""unknown":null"#, ["unknown"]), (#""method":null,"headers":null"#, ["method", "headers"]),
    (#""body":{"text":null,"base64":"AA=="}"#, ["body/text"]),
    (#""timeoutInterval":null"#, ["timeoutInterval"]),
    (#""cachePolicy":null"#, ["cachePolicy"]),
    (#""httpShouldHandleCookies":null"#, ["httpShouldHandleCookies"]),
    (#""allowsCellularAccess":null"#, ["allowsCellularAccess"]),
  ])
  func `invalid member of a request is named`(_ member: String, _ expected: [String]) throws {
    let text = #"{"kind":"data","request":{"url":"http://a/",\#(member)}}"#
    #expect(try pointers(text) == expected.map { "/request/" + $0 })
  }

  @Test func `body may be a file or a stream`() throws {
    let file = FileID("fil_01923456-789a-7bcd-8ef0-123456789abc")
    let stored = try read(
      #"{"kind":"upload","request":{"url":"http://a/","body":{"file":"\#(file?.description ?? "")"}}}"#)
    #expect(stored.request.body?.file == file)
    #expect(stored.request.method == "POST")
    let streamed = try read(
      #"{"kind":"upload","request":{"url":"http://a/","method":"PUT","body":{"stream":true}}}"#)
    #expect(streamed.request.body == .stream)
    #expect(streamed.request.method == "PUT")
  }

  @Test func `download may start from resume data`() throws {
    #expect(try read(#"{"kind":"download","resumeData":"good"}"#).request.url == "http://resumed/")
  }

  /// Requests that background sessions refuse and other sessions accept.
  @Test(
    arguments: [
      (#""kind":"data","request":{"url":"http://a/"}"#, []),
      (#""kind":"data","request":{"url":"http://a/","body":{"text":"b"}}"#, []),
      (#""kind":"data","request":{"url":"http://a/","body":{"stream":true}}"#, ["/request/body"]),
      (#""kind":"download","request":{"url":"http://a/","body":{"stream":true}}"#, ["/request/body"]),
      (#""kind":"upload","request":{"url":"http://a/","body":{"stream":true}}"#, ["/request/body"]),
      (#""kind":"upload","request":{"url":"http://a/","body":{"text":"b"}}"#, ["/request/body"]),
      (#""kind":"upload","request":{"url":"http://a/","body":{"base64":"AA=="}}"#, ["/request/body"]),
      (#""kind":"upload","request":{"url":"http://a/","body":{"file":"\#(Self.file)"}}"#, []),
      (#""kind":"download","resumeData":"good""#, []),
      (#""kind":"data","request":{"url":"http://a/"},"completion":{"webhook":{"url":"http://b/"}}"#, []),
    ] as [(String, [String])])
  func `background session refuses some tasks`(_ members: String, _ expected: [String]) throws {
    let session = TransferSession(
      id: .shared, type: .background, createdAt: Timestamp(microseconds: 0), description: nil,
      configuration: .init(), delegate: SessionDelegate(), identifier: "a")
    var found: [String] = []
    do throws(Problem) {
      _ = try read("{\(members)}", in: session)
    } catch {
      found = error.violations.map(\.pointer)
    }
    #expect(found == expected, "\(members)")
    #expect(throws: Never.self) { _ = try read("{\(members)}", in: nil) }
  }

  @Test func `begin date is read in any time zone`() throws {
    let task = try read(
      #"{"kind":"data","earliestBeginDate":"2030-01-01T01:00:00.5+01:00","request":{"url":"http://a/"}}"#)
    #expect(task.earliestBeginDate?.description == "2030-01-01T00:00:00.500Z")
  }

  @Test(arguments: [
    "1", "[]", "\"\"", "\"ftp://a/\"", "\"/relative\"", "\"http://\"",
    "\"http://a:99999/\"", "\"a\"",
  ])
  func `invalid URL is refused`(_ url: String) throws {
    #expect(try pointers(#"{"kind":"data","request":{"url":\#(url)}}"#) == ["/request/url"])
  }

  @Test func `all faults of a task are reported at once`() throws {
    let text =
      #"{"kind":"x","request":{"method":"TRACE","y":1},"priority":2,"completion":{"webhook":{}},"z":1}"#
    #expect(
      try pointers(text) == [
        "/kind", "/request/url", "/request/method", "/request/y", "/priority", "/completion/webhook/url",
        "/z",
      ])
  }
}
