import Curl
import EngineAPI
import HTTPFields
import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct TransferMachineTests {
  private static func job(_ kind: TaskKind = .data, body: RequestContent? = nil) -> TransferJob {
    TransferJob(
      task: TaskID(high: 1, low: 1), session: .shared, configuration: .init(), kind: kind,
      request: TransferRequest(url: "http://a.test/x", method: body == nil ? "GET" : "POST", body: body),
      priority: 0.5)
  }

  private static func asked(_ job: TransferJob, asks: Bool = false) throws -> TransferMachine.Request {
    TransferMachine.Request(
      request: job.request, url: try CurlURL(job.request.url), proxy: nil,
      sharedConfiguration: job.sharedConfiguration,
      asksForRedirects: asks)
  }

  private static func head(_ status: Int, _ fields: [(String, String)] = []) -> ResponseHead {
    ResponseHead(
      httpVersion: "HTTP/1.1", status: status,
      headers: HTTPHeaders(fields.map { .init(name: $0.0, value: $0.1) }))
  }

  private static func surroundings(asks: Bool, stored: Credential? = nil) -> Authenticator.Context {
    .init(attemptLimit: 3, asks: { _ in asks }, stored: { _ in stored }, given: { _ in nil })
  }

  private enum Kind { case pass, sendAgain, ask, exhausted, follow, askWhere, send, fail, accept, stop }

  private static func kind(_ nextStep: TransferMachine.ResponseAction) -> Kind {
    switch nextStep {
    case .challenge(.pass, _): .pass
    case .challenge(.send, _): .sendAgain
    case .challenge(.ask, _): .ask
    case .challenge(.exhausted, _): .exhausted
    case .redirect(.follow): .follow
    case .redirect(.ask): .askWhere
    case .redirect(.fail), .fail: .fail
    case .send: .send
    case .accept: .accept
    case .stop: .stop
    }
  }

  private static let basic = ("WWW-Authenticate", "Basic realm=\"r\"")
  private static let away = ("Location", "/y")

  /// A challenge comes before everything else in a response.
  @Test(
    arguments: [
      (200, [], false, .accept), (404, [], true, .accept), (500, [away], true, .accept),
      (401, [], false, .pass), (401, [basic], false, .pass), (401, [basic, away], true, .ask),
      (302, [away], false, .follow), (302, [away, basic], true, .askWhere), (302, [], false, .accept),
      (302, [("Location", "ftp://a.test/")], false, .fail), (407, [], true, .accept),
    ] as [(Int, [(String, String)], Bool, Kind)])
  private func heads(_ status: Int, _ fields: [(String, String)], _ asks: Bool, _ expected: Kind) throws {
    let job = Self.job()
    var machine = TransferMachine(job)
    let nextStep = machine.handle(
      Self.head(status, fields), to: try Self.asked(job, asks: asks), Self.surroundings(asks: asks),
      refused: { _ in })
    #expect(Self.kind(nextStep) == expected)
  }

  /// Bytes wait in the body's file for the rest, so no decision may replace them.
  @Test(
    arguments: [
      (401, [basic], true, .stop), (401, [basic], false, .pass), (302, [away], true, .stop),
      (302, [away], false, .follow), (200, [], true, .accept),
    ] as [(Int, [(String, String)], Bool, Kind)])
  private func `no decision is requested while bytes wait`(
    _ status: Int, _ fields: [(String, String)], _ asks: Bool, _ expected: Kind
  ) throws {
    let job = Self.job()
    var machine = TransferMachine(job)
    machine.ranges = RangeAssembly(PartialBody(offset: 1, total: 9, validator: "\"v\""))
    _ = machine.ranges.handle(Self.head(206, [("Content-Range", "bytes 1-8/9")]), from: "http://a/")
    #expect(machine.ranges.append(1) == .taken && machine.ranges.end() == .next)
    let nextStep = machine.handle(
      Self.head(status, fields), to: try Self.asked(job, asks: asks), Self.surroundings(asks: asks),
      refused: { _ in })
    #expect(Self.kind(nextStep) == expected)
  }

  /// A stored credential is sent once. After its refusal the response is the result.
  @Test func `refused credential is sent once`() throws {
    let job = Self.job()
    var machine = TransferMachine(job)
    let surroundings = Self.surroundings(asks: false, stored: Credential(user: "u", password: "p"))
    var refused: [Credential?] = []
    let first = machine.handle(
      Self.head(401, [Self.basic]), to: try Self.asked(job), surroundings,
      refused: { refused.append($0.credential) })
    #expect(Self.kind(first) == .sendAgain && refused.isEmpty)
    let second = machine.handle(
      Self.head(401, [Self.basic]), to: try Self.asked(job), surroundings,
      refused: { refused.append($0.credential) })
    #expect(Self.kind(second) == .pass && refused.count == 1)
  }

  /// RFC 9110 §10.1.1.
  @Test(
    arguments: [
      (417, "100-continue", .send), (417, "x, 100-CONTINUE", .send), (417, "x", .accept), (417, nil, .accept),
      (400, "100-continue", .accept),
    ] as [(Int, String?, Kind)])
  private func `expectation is withheld once`(_ status: Int, _ expect: String?, _ expected: Kind) throws {
    let fields = expect.map { [HTTPHeaders.Field(name: "expect", value: $0)] } ?? []
    for isOfSession in [false, true] {
      var request = TransferRequest(url: "http://a.test/x", method: "POST", body: .data([1]))
      var configuration = SessionConfiguration()
      if isOfSession {
        configuration.httpAdditionalHeaders = HTTPHeaders(fields)
      } else {
        request.headers = HTTPHeaders(fields)
      }
      let job = TransferJob(
        task: TaskID(high: 1, low: 1), session: .shared, configuration: configuration, kind: .data,
        request: request, priority: 0.5)
      var machine = TransferMachine(job)
      for (round, kind) in [expected, .accept].enumerated() {
        let nextStep = machine.handle(
          Self.head(status), to: try Self.asked(job), Self.surroundings(asks: false), refused: { _ in })
        #expect(Self.kind(nextStep) == kind, "round \(round)")
        #expect(machine.withholdsExpect == (expected == .send))
      }
    }
  }

  /// Bytes that the server has kept are not sent again.
  @Test func `interrupted upload sends the rest`() throws {
    let job = Self.job(.upload, body: .data([1, 2, 3]))
    var machine = TransferMachine(job)
    let kept = Self.head(
      104, [("Upload-Draft-Interop-Version", "8"), ("Location", "/up")])
    let isKept = machine.upload?.handleInformational(informational: kept, at: try CurlURL(job.request.url))
    #expect(isKept == true)
    let part = Self.head(201, [("Upload-Complete", "?0"), ("Upload-Offset", "2")])
    let nextStep = machine.handle(
      part, to: try Self.asked(job), Self.surroundings(asks: false), refused: { _ in })
    guard case .send(let rest) = nextStep else {
      Issue.record("\(nextStep)")
      return
    }
    #expect(rest.method == "PATCH" && rest.body == .data([3]))
    machine.prepare(rest, leavesOrigin: false)
    #expect(machine.upload?.range == 2..<3)
  }

  /// For all responses of an origin, a task without decisions ends.
  @Test(arguments: 1...20 as ClosedRange<UInt64>) func `every transfer ends`(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let credential = Credential(user: "u", password: "p")
    for _ in 0..<50 {
      let isUpload = Bool.random(using: &generator)
      let job = isUpload ? Self.job(.upload, body: .data([1, 2, 3])) : Self.job()
      var machine = TransferMachine(job)
      var (asked, steps) = (try Self.asked(job), 0)
      while true {
        steps += 1
        // Redirects, credentials and pieces of an upload each have a limit of their own.
        try #require(steps < 2000)
        let heads = [
          Self.head(401, [Self.basic]), Self.head(307, [("Location", "/\(steps)")]),
          Self.head(201, [("Upload-Complete", "?0"), ("Upload-Offset", "\(steps % 4)")]),
        ]
        let answer = heads[Int.random(in: 0..<heads.count, using: &generator)]
        let surroundings = Self.surroundings(asks: false, stored: credential)
        let next: TransferRequest
        switch machine.handle(answer, to: asked, surroundings, refused: { _ in }) {
        case .challenge(.send, _): next = asked.request
        case .redirect(.follow(let request)), .send(let request): next = request
        default: next = TransferRequest(url: "")
        }
        guard !next.url.isEmpty else { break }
        let url = try CurlURL(next.url)
        machine.prepare(next, leavesOrigin: url.origin != asked.url.origin)
        asked = TransferMachine.Request(
          request: next, url: url, proxy: nil, sharedConfiguration: job.sharedConfiguration,
          asksForRedirects: false)
      }
    }
  }
}
