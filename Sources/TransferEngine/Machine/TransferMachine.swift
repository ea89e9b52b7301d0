internal import Curl
internal import EngineAPI
internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// The decisions of one transfer about the responses to its requests. Pure: it has no handle, clock or disk. Its surroundings come with
/// each input, and its outcomes are values.
struct TransferMachine {
  var authenticator = Authenticator()
  var redirects = RedirectChain()
  /// The state of a resumable upload; `nil` if the upload cannot be resumed.
  var upload: ResumableUpload?
  var claim: DownloadClaim
  /// The partial responses that make up a download.
  var ranges: RangeAssembly
  var cache: CacheTransaction?
  var lifecycle = TransferLifecycle()
  var requirements: RequirementCheck
  /// Whether `Expect: 100-continue` is left out, because a server on the way does not support it.
  private(set) var withholdsExpect = false
  /// The number of decisions that the task has requested. The next one gets the next number.
  private(set) var decisionCount: Int

  /// - Parameter uploadVersion: The version of resumable uploads that a new upload offers.
  init(_ job: TransferJob, uploadVersion: UploadVersion = .v8) {
    decisionCount = job.decisionCount
    upload = ResumableUpload(job, offering: uploadVersion)
    claim = DownloadClaim(job.resumePoint?.download)
    ranges = RangeAssembly(job.resumePoint?.download?.partial)
    requirements = RequirementCheck(job.requirements)
  }

  /// A request as it was sent.
  struct Request {
    let request: TransferRequest
    let url: CurlURL
    let proxy: ProxyConfiguration.Entry?
    let sharedConfiguration: SharedBox<SessionConfiguration>
    /// Whether the delegate decides about redirects.
    let asksForRedirects: Bool

    var configuration: SessionConfiguration { sharedConfiguration.value }

    /// Whether the request expects 100 (Continue) before its body.
    var expectsContinue: Bool {
      request.headers.merging(defaults: configuration.httpAdditionalHeaders).elements(of: "Expect").contains {
        HTTPHeaders.equal($0, "100-continue")
      }
    }

    /// Returns the side that requests credentials with this response; `nil` if neither does.
    func challenger(_ head: ResponseHead) -> Authenticator.Side? {
      Authenticator.side(asking: head, proxy?.server.kind, scheme: url.scheme)
    }

    /// Returns the protection space of a side.
    func place(of side: Authenticator.Side) -> ProtectionSpace {
      side == .server ? url.place : proxy?.server.place ?? url.place
    }
  }

  /// The outcome of a response that was not cached.
  enum ResponseAction {
    /// A 401 or 407.
    case challenge(Authenticator.NextStep, on: Authenticator.Side)
    case redirect(RedirectChain.NextStep)
    /// Send this request instead: the rest of an upload of which the server has kept some, or the same request without its expectation.
    case send(TransferRequest)
    case fail(TransferError)
    /// The response is the task's.
    case accept
    /// A decision is needed, but the body's file waits for the rest: the task ends with resume data.
    case stop
  }

  /// Handles the head of a response. A challenge is handled first, then a redirect, then the end of an upload.
  /// - Parameter refused: Receives credentials that were refused.
  mutating func handle(
    _ head: ResponseHead, to request: Request, _ surroundings: @autoclosure () -> Authenticator.Context,
    refused: (Authenticator.Attempt) -> Void
  ) -> ResponseAction {
    if let side = request.challenger(head) {
      let challenges = Authenticator.challenges(of: side, in: head)
      let nextStep = authenticator.handleChallenge(
        challenges, on: side, at: request.place(of: side), surroundings(), refused: refused)
      return mayDecide(nextStep, side) ? .challenge(nextStep, on: side) : .stop
    }
    if head.isRedirect {
      let nextStep = redirects.nextStep(
        head, from: request.request, at: request.url, request.configuration, asks: request.asksForRedirects)
      if ranges.isOpen, case .ask = nextStep { return .stop }
      return .redirect(nextStep)
    }
    // A server on the way does not support expectations (RFC 9110 §10.1.1).
    if head.status == 417, request.expectsContinue, !withholdsExpect {
      withholdsExpect = true
      return .send(request.request)
    }
    switch upload?.nextStep(on: head) ?? .result {
    case .result: return .accept
    case .send(let rest): return .send(rest)
    case .failed(let error): return .fail(error)
    }
  }

  /// Returns whether a challenge may be answered now. An answer that takes time is not allowed while the body's file waits for the rest.
  /// Otherwise the body of the challenge's response would replace the task's.
  private func mayDecide(_ nextStep: Authenticator.NextStep, _ side: Authenticator.Side) -> Bool {
    guard ranges.isOpen else { return true }
    switch nextStep {
    case .ask: return false
    case .send: return !authenticator.needsToken(side)
    case .pass, .exhausted: return true
    }
  }

  /// Returns the effect of a response on the cached one.
  func hear(_ head: CacheResponseHead, at now: @autoclosure () -> Timestamp) -> CacheTransaction.HeadEffect {
    cache?.handle(head, at: now()) ?? .pass
  }

  /// Returns the number of a new decision. An answer with another number is dropped.
  mutating func ask() -> Int {
    decisionCount += 1
    return decisionCount
  }

  /// Whether the body of the coming response is needed.
  var wantsBody: Bool { lifecycle.next == nil && lifecycle.wireEnd == nil && cache?.answer == nil }

  /// Prepares for the task's next request, to the same origin or another.
  mutating func prepare(_ next: TransferRequest, leavesOrigin: Bool) {
    lifecycle.prepare()
    if next.body == nil, upload?.range.isEmpty == false { upload = nil }
    upload?.willSend(next)
    if leavesOrigin { authenticator.leaveOrigin() }
    cache = nil
  }
}
