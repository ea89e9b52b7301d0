internal import Curl
internal import TransferModel

/// One task on the wire, redirects included. Lives on its worker's loop; libcurl's callbacks record here.
final class Transfer: EasyHandleDelegate {
  let job: TransferJob
  let easy: EasyHandle
  let live: LiveBody?
  private var gate: EgressGate
  private let now: () -> Timestamp
  private let makeSink: (LiveBody?) -> BodySink
  /// Called from any thread when a full sink has room again.
  private let drained: @Sendable () -> Void

  private(set) var request: TransferRequest
  private(set) var url: CurlURL
  private(set) var head: ResponseHead?
  private(set) var response: TransferResponse?
  private(set) var sink: BodySink?
  private(set) var transactions: [TransactionMetrics] = []
  private(set) var facts: [TransferFact] = []
  private(set) var lastActivity = ContinuousClock.now
  private(set) var startedAt: Timestamp
  private var parser = ResponseHeadParser()
  private var redirects = 0
  private var reportedBytes: Int64 = 0

  /// When the whole of it must be over.
  var resourceDeadline: ContinuousClock.Instant
  var isSuspended = false
  var suspendedAt = ContinuousClock.now
  var isPausedBySink = false

  init(
    job: TransferJob, url: CurlURL, easy: EasyHandle, egress: EgressPolicy, now: @escaping () -> Timestamp,
    makeSink: @escaping (LiveBody?) -> BodySink, drained: @escaping @Sendable () -> Void
  ) {
    self.job = job
    self.url = url
    self.easy = easy
    gate = EgressGate(egress)
    self.now = now
    self.makeSink = makeSink
    self.drained = drained
    request = job.request
    live = job.kind == .data ? LiveBody() : nil
    startedAt = now()
    resourceDeadline = .now + .seconds(job.configuration.timeoutIntervalForResource)
    facts.append(.began(job.task, at: startedAt))
  }

  var idleTimeout: Duration {
    .seconds(request.timeoutInterval ?? job.configuration.timeoutIntervalForRequest)
  }

  func takeFacts() -> [TransferFact] {
    defer { facts.removeAll(keepingCapacity: true) }
    return facts
  }

  func touch() { lastActivity = .now }

  var progress: TaskProgress {
    var progress = TaskProgress()
    progress.countOfBytesSent = easy.info(.uploaded)
    progress.countOfBytesExpectedToSend = Int64(request.body?.count ?? 0)
    progress.countOfBytesReceived = sink?.size ?? 0
    progress.countOfBytesExpectedToReceive = response?.expectedContentLength ?? -1
    return progress
  }

  /// The progress, where bytes have arrived since the last call.
  func takeProgress() -> TaskProgress? {
    let received = sink?.size ?? 0
    guard received != reportedBytes else { return nil }
    reportedBytes = received
    return progress
  }

  // MARK: EasyHandleDelegate

  func didReceiveHeader(_ line: UnsafeRawBufferPointer) {
    touch()
    guard let head = parser.add(line) else { return }
    if head.isInformational {
      facts.append(.informational(job.task, status: head.status, headers: head.headers, at: now()))
      return
    }
    guard self.head == nil else { return }
    self.head = head
    guard !head.isRedirect else { return }
    accept(head)
  }

  /// The head of the final answer: the body that follows is the task's.
  private func accept(_ head: ResponseHead) {
    let response = Self.response(head, url: url.text)
    self.response = response
    sink = makeSink(live)
    live?.begin(response)
    if job.kind == .data { facts.append(.response(job.task, response, at: now())) }
  }

  private static func response(_ head: ResponseHead, url: String) -> TransferResponse {
    let isEncoded = head.headers["Content-Encoding"].map { $0.lowercased() != "identity" } ?? false
    let length = isEncoded ? nil : head.headers["Content-Length"].flatMap { Int64($0) }
    return TransferResponse(
      url: url, status: head.status, headers: head.headers, expectedContentLength: length ?? -1,
      httpVersion: head.httpVersion)
  }

  func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> BodyDisposition {
    touch()
    guard let sink else { return .accepted }  // a redirect's body is nobody's
    let disposition = sink.write(bytes, drained: drained)
    if disposition == .paused { isPausedBySink = true }
    return disposition
  }

  func mayConnect(to address: PeerAddress) -> Bool { gate.mayConnect(to: address) }

  func maySendRequest(toAddress address: String) -> Bool {
    touch()
    return gate.maySendRequest(toAddress: address)
  }

  // MARK: After libcurl's end

  /// Closes the record of the request that just ended.
  func recordTransaction(endedAt: Timestamp) {
    let began =
      transactions.isEmpty ? startedAt : transactions[transactions.count - 1].responseEnd ?? startedAt
    transactions.append(
      TransactionRecorder.record(
        easy, request: request, status: head?.status, fetchStart: began, end: endedAt,
        decoded: sink?.size ?? 0))
  }

  /// Where the answer was a redirect: the next request, after telling of it.
  func followRedirect() throws(TransferError) -> Bool {
    guard let head, head.isRedirect else { return false }
    redirects += 1
    let next = try Redirect.next(from: request, at: url, head: head, count: redirects)
    facts.append(
      .redirected(job.task, Self.response(head, url: url.text), to: next, at: now()))
    do throws(CurlURL.Fault) {
      url = try CurlURL(next.url)
    } catch {
      throw TransferError(.badURL, "redirected to a malformed URL", failingURL: next.url)
    }
    request = next
    self.head = nil
    parser = ResponseHeadParser()
    touch()
    return true
  }

  /// Takes the redirect's own answer as the result, where it cannot be followed.
  func acceptUnfollowedHead() {
    guard let head, response == nil else { return }
    response = Self.response(head, url: url.text)
  }
}

extension Transfer {
  /// Why it must end now, where a clock ran out. A suspended task has no timeouts.
  func timeout(at now: ContinuousClock.Instant) -> TransferError? {
    guard !isSuspended else { return nil }
    let url = request.url
    if now >= resourceDeadline {
      return TransferError(.timedOut, "timeoutIntervalForResource has passed", failingURL: url)
    }
    // While the sink holds the origin back, it is not the origin that is idle.
    guard !isPausedBySink, now - lastActivity >= idleTimeout else { return nil }
    return TransferError(
      .timedOut, "no byte moved for timeoutIntervalForRequest", failingURL: url,
      underlying: .init(library: "libcurl", code: CurlResult.operationTimedOut.code))
  }

  /// libcurl's failure in URLSession's words, or Ferry's own where Ferry caused it.
  func failure(_ result: CurlResult) -> TransferError {
    if let rule = gate.refusedRule, result == .couldntConnect || result == .abortedByCallback {
      return TransferError(
        .destinationNotPermitted, "destination not permitted", failingURL: request.url, rule: rule)
    }
    if sink?.isTooLarge == true {
      return TransferError(.bodyTooLarge, "the body is larger than allowed", failingURL: request.url)
    }
    return FailureMapping.error(
      result, url: request.url, receivedHead: response != nil, verifyResult: easy.info(.sslVerifyResult))
  }
}
