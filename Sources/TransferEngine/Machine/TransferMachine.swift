internal import Curl
internal import EngineAPI
internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// What one transfer decides about the answers to its requests. Pure: no handle, no clock and no disk; what its surroundings say comes
/// with each input, and what is to be done is told in values.
struct TransferMachine {
  var authenticator = Authenticator()
  var redirects = RedirectChain()
  /// Goes on where it stopped, should it stop.
  var upload: ResumableUpload?
  var claim: DownloadClaim
  /// The responses that a download is put together from.
  var ranges: RangeAssembly
  var cache: CacheUse?
  var course = TransferCourse()
  /// A server does not support expectations: the task's requests go out without one.
  private(set) var withholdsExpect = false
  /// How many questions were asked about the task: the next has the next number.
  private(set) var questions: Int

  /// - Parameter uploadVersion: what a new upload offers.
  init(_ job: TransferJob, uploadVersion: UploadVersion = .v8) {
    questions = job.questions
    upload = ResumableUpload(job, offering: uploadVersion)
    claim = DownloadClaim(job.resumePoint?.download)
    ranges = RangeAssembly(job.resumePoint?.download?.partial)
  }

  /// A request as it went out.
  struct Request {
    let request: TransferRequest
    let url: CurlURL
    let proxy: ProxyConfiguration.Entry?
    let sharedConfiguration: Shared<SessionConfiguration>
    /// The delegate wants to be asked.
    let asksForRedirects: Bool

    var configuration: SessionConfiguration { sharedConfiguration.value }

    /// It expects to be let send its body.
    var expectsContinue: Bool {
      request.headers.merging(defaults: configuration.httpAdditionalHeaders).elements(of: "Expect").contains {
        HTTPHeaders.equal($0, "100-continue")
      }
    }

    /// Who asks for credentials with an answer to it; nil where nobody does.
    func challenger(_ head: ResponseHead) -> Authenticator.Side? {
      Authenticator.side(asking: head, proxy?.server.kind, scheme: url.scheme)
    }

    /// Where one of the two asks.
    func place(of side: Authenticator.Side) -> ProtectionSpace {
      side == .server ? url.place : proxy?.server.place ?? url.place
    }
  }

  /// What becomes of an answer that is not the cache's.
  enum Verdict {
    /// A 401 or 407.
    case challenge(Authenticator.Verdict, on: Authenticator.Side)
    case redirect(RedirectChain.Verdict)
    /// Goes out instead: the rest of an upload of which its server has kept some, or the same request without its expectation.
    case send(TransferRequest)
    case fail(TransferError)
    /// It is the task's.
    case accept
    /// A decision is needed, but the body's file waits for the rest: the task ends with resume data.
    case stop
  }

  /// The head of an answer is here. Who asks for credentials is heard first, then where the answer leads, then whether an
  /// upload is at its end.
  /// - Parameter refused: hears which credentials were of no use.
  mutating func handle(
    _ head: ResponseHead, to request: Request, _ surroundings: @autoclosure () -> Authenticator.Surroundings,
    refused: (Authenticator.Attempt) -> Void
  ) -> Verdict {
    if let side = request.challenger(head) {
      let challenges = Authenticator.challenges(of: side, in: head)
      let verdict = authenticator.consider(
        challenges, on: side, at: request.place(of: side), surroundings(), refused: refused)
      return mayDecide(verdict, side) ? .challenge(verdict, on: side) : .stop
    }
    if head.isRedirect {
      let verdict = redirects.meet(
        head, from: request.request, at: request.url, request.configuration, asks: request.asksForRedirects)
      if ranges.isOpen, case .ask = verdict { return .stop }
      return .redirect(verdict)
    }
    // A server on the way does not support expectations (RFC 9110 §10.1.1).
    if head.status == 417, request.expectsContinue, !withholdsExpect {
      withholdsExpect = true
      return .send(request.request)
    }
    switch upload?.verdict(on: head) ?? .result {
    case .result: return .accept
    case .send(let rest): return .send(rest)
    case .failed(let error): return .fail(error)
    }
  }

  /// Whether a challenge may be answered now. False if that takes time while the body's file waits for the
  /// rest: the body of the challenge's response would replace the task's.
  private func mayDecide(_ verdict: Authenticator.Verdict, _ side: Authenticator.Side) -> Bool {
    guard ranges.isOpen else { return true }
    switch verdict {
    case .ask: return false
    case .send: return !authenticator.needsToken(side)
    case .pass, .exhausted: return true
    }
  }

  /// What an answer means for what is stored.
  func hear(_ head: CacheResponseHead, at now: @autoclosure () -> Timestamp) -> CacheUse.Hearing {
    cache?.hear(head, at: now()) ?? .pass
  }

  /// A question is asked under a number that no other of the task has: an answer to another is none.
  mutating func ask() -> Int {
    questions += 1
    return questions
  }

  /// Somebody wants the bytes of the answer that comes.
  var wantsBody: Bool { course.next == nil && course.wireEnd == nil && cache?.answer == nil }

  /// The next request of the task goes elsewhere, or is another to the same place.
  mutating func prepare(_ next: TransferRequest, leavesOrigin: Bool) {
    course.prepare()
    if next.body == nil, upload?.range.isEmpty == false { upload = nil }
    upload?.willSend(next)
    if leavesOrigin { authenticator.leaveOrigin() }
    cache = nil
  }
}
