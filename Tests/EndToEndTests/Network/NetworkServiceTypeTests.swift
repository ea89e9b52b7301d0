import JSON
import Synchronization
import TestSupport
import Testing

/// `networkServiceType` of `URLSessionConfiguration` and `URLRequest`, as the origin sees it in the packets.
@Suite(.blocking) struct NetworkServiceTypeTests {
  /// The DSCP of each request's connection, by path. `/to/x` redirects to `/x`.
  private final class Marks: Sendable {
    let seen = Mutex<[String: Int]>([:])
    func note(_ path: String, _ mark: Int) { seen.withLock { $0[path] = mark >> 2 } }
    subscript(_ path: String) -> Int? { seen.withLock { $0[path] } }
  }

  /// RFC 4594 §2.3.
  private static let codePoints = [
    "default": 0, "video": 34, "background": 8, "voice": 46, "responsiveData": 18, "avStreaming": 26,
    "responsiveAV": 32, "callSignaling": 40,
  ]

  private let ferry: FerryProcess
  private let origin: TestOrigin
  private let marks: Marks

  init() throws {
    let marks = Marks()
    self.marks = marks
    ferry = try FerryProcess()
    origin = TestOrigin { request, socket in
      marks.note(request.path, socket.trafficClass)
      if request.path.hasPrefix("/to/") {
        try socket.write(TestOrigin.reply("302 Found", [], [("Location", "/" + request.path.dropFirst(4))]))
      } else {
        try socket.write(TestOrigin.reply("200 OK", Array("hello".utf8)))
      }
      return true
    }
  }

  @discardableResult
  private func run(_ path: String, in session: String, _ type: String? = nil) throws -> JSONValue {
    let request = type.map { #","networkServiceType":"\#($0)""# } ?? ""
    let task = try ferry.runInBackground(origin.url + path, session: session, request: request)
    #expect(task["error"] == .null, "\(path)")
    return task
  }

  /// All requests use one session, whose kept connections are never shared by two types.
  @Test func `each type has its mark`() throws {
    let session = try ferry.session(FerryProcess.uncached)
    for round in 1...2 {
      for (type, codePoint) in Self.codePoints {
        try run("/\(type)\(round)", in: session, type)
        #expect(marks["/\(type)\(round)"] == codePoint, "\(type)")
      }
      try run("/none\(round)", in: session)
      #expect(marks["/none\(round)"] == 0)
    }
  }

  @Test func `type of the request wins unless it is default`() throws {
    let session = try ferry.session(#"{"urlCache":null,"networkServiceType":"background"}"#)
    try run("/session", in: session)
    let voice = try run("/voice", in: session, "voice")
    let unsaid = try run("/default", in: session, "default")
    #expect(marks["/session"] == 8 && marks["/voice"] == 46 && marks["/default"] == 8)
    #expect(voice["originalRequest"]?["networkServiceType"]?.string == "voice")
    #expect(unsaid["originalRequest"]?["networkServiceType"] == nil)
    // The redirected request keeps the type.
    try run("/to/moved", in: session, "video")
    #expect(marks["/to/moved"] == 34 && marks["/moved"] == 34)
  }

  /// The worker reads the type from the ledger.
  @Test func `background sessions mark their packets`() throws {
    let body =
      #"{"type":"background","identifier":"marks","delegate":{},"configuration":{"networkServiceType":"avStreaming"}}"#
    let session = try ferry.call("POST", "/v1/sessions", body).json.id
    try run("/background", in: session)
    try run("/own", in: session, "responsiveData")
    #expect(marks["/background"] == 26 && marks["/own"] == 18)
  }

  @Test func `unsupported member is refused with a reason`() throws {
    func details(_ reply: HTTPReply) -> [String: String] {
      #expect(reply.status == 400, "\(reply.text)")
      let errors = reply.json["errors"]?.elements ?? []
      return Dictionary(
        errors.map { ($0["pointer"]?.string ?? "", $0["detail"]?.string ?? "") }, uniquingKeysWith: { $1 })
    }
    let configuration = details(
      try ferry.call(
        "POST", "/v1/sessions",
        #"{"configuration":{"requiresDNSSECValidation":true,"proxyConfigurations":[],"nobodys":1}}"#))
    #expect(configuration["/configuration/requiresDNSSECValidation"]?.contains("DNSSEC") == true)
    #expect(configuration["/configuration/proxyConfigurations"]?.contains("use proxies") == true)
    #expect(configuration["/configuration/nobodys"]?.hasPrefix("unknown field") == true)
    let task = details(
      try ferry.call(
        "POST", "/v1/tasks",
        #"{"kind":"data","taskDescription":"x","request":{"url":"http://a.test/","assumesHTTP3Capable":true,"#
          + #""requiresDNSSECValidation":true,"networkServiceType":"voip"}}"#))
    #expect(task["/taskDescription"] == "use description")
    #expect(task["/request/assumesHTTP3Capable"] == "HTTP/3 is not supported")
    #expect(task["/request/requiresDNSSECValidation"]?.contains("DNSSEC") == true)
    #expect(task["/request/networkServiceType"]?.contains("callSignaling") == true)
  }
}
