internal import BlobStore
internal import Curl
internal import EngineAPI
internal import HTTPFields
internal import TransferModel

/// The stage that shows responses to the delegate and creates the sinks of their bodies.
final class ResponseDelivery {
  private let context: TransferContext

  init(_ context: TransferContext) { self.context = context }

  // MARK: The response

  /// Rejects a response: the task ends with `error` when libcurl is done.
  func fail(_ head: ResponseHead, _ error: TransferError, _ transfer: Transfer) {
    transfer.response = TransferResponse(head, at: transfer.url)
    transfer.machine.lifecycle.endWire(error)
  }

  /// Accepts the response whose body is the task's.
  func deliver(_ head: ResponseHead, _ transfer: Transfer) {
    let hasJoined = transfer.machine.ranges.hasJoined
    switch transfer.machine.ranges.handle(head, from: transfer.url.withoutQuery) {
    case .deliver:
      guard transfer.machine.claim.point != nil, (200..<300).contains(head.status), !hasJoined else { break }
      noteResumed(at: 0, of: TransferResponse(head, at: transfer.url).expectedContentLength, transfer)
    case .append(let offset):
      if transfer.sink == nil { transfer.sink = makeSink(transfer, resuming: offset) }
      if !hasJoined { noteResumed(at: offset, of: transfer.machine.ranges.total ?? -1, transfer) }
      transfer.noteKept()
    case .startAgain: return transfer.replaceRequest(transfer.request)
    case .complete: return transfer.machine.lifecycle.endWire(nil)
    case .stop: return transfer.machine.lifecycle.endWire(transfer.restIsMissing)
    case .fail: return transfer.machine.lifecycle.endWire(transfer.rangesDoNotFit)
    }
    if let error = sizeError(head, transfer) {
      transfer.machine.lifecycle.discardRest()
      return fail(head, error, transfer)
    }
    if transfer.job.kind != .download, let parts = head.multipart {
      transfer.received.multipart = parts
    } else {
      announce(TransferResponse(head, at: transfer.url), transfer)
    }
  }

  /// Returns the error of a response that announces a size other than the one that the client expects.
  private func sizeError(_ head: ResponseHead, _ transfer: Transfer) -> TransferError? {
    // The length of a multipart response includes its delimiters; that of a response to HEAD is not the body's.
    guard transfer.request.method != "HEAD", transfer.job.kind == .download || !head.isMultipart else {
      return nil
    }
    let length = TransferResponse(head, at: transfer.url).expectedContentLength
    let total = transfer.machine.ranges.offset == nil ? length : transfer.machine.ranges.total ?? -1
    return transfer.machine.requirements.headError(
      status: head.status, total: total, url: transfer.request.url)
  }

  private func noteResumed(at offset: Int64, of total: Int64, _ transfer: Transfer) {
    transfer.facts.append(
      .resumed(transfer.task, offset: offset, expectedTotal: total, at: context.settings.now()))
  }

  /// Shows a response, or a part of one, to the delegate. Holds the transfer if the delegate decides about responses.
  func announce(_ response: TransferResponse, _ transfer: Transfer) {
    transfer.response = response
    let sink = transfer.sink ?? makeSink(transfer)
    transfer.sink = sink
    let isDownload = transfer.job.kind == .download
    transfer.received.live?.beginPart(isDownload ? nil : response, at: sink.size)
    guard !isDownload else { return }
    guard transfer.job.asksForResponses else {
      if transfer.received.multipart != nil { transfer.received.live?.countPart() }
      transfer.facts.append(
        .response(transfer.task, response, BodyReference(transfer.received.live), at: context.settings.now()))
      return
    }
    transfer.machine.lifecycle.pause(for: .response)
    // Flush the previous part first: its bytes must not wait for the decision.
    sink.flushPartialChunk(transfer.drained)
    transfer.ask(.response(response, BodyReference(transfer.received.live)))
    context.reportAtEndOfTick(transfer)
  }

  // MARK: The response's body

  /// Creates a response's sink and, unless it is a download, a live body for readers.
  /// - Parameter offset: The number of bytes that are there already.
  func makeSink(_ transfer: Transfer, resuming offset: Int64? = nil) -> BodySink {
    if transfer.job.kind != .download, transfer.received.live == nil {
      transfer.received.live = LiveBody(
        isIncremental: transfer.job.prefersIncrementalDelivery, hasRoom: transfer.drained)
    }
    return makeFurtherSink(transfer, resuming: offset)
  }

  /// Like `makeSink`, but creates no live body.
  func makeFurtherSink(_ transfer: Transfer, resuming offset: Int64? = nil) -> BodySink {
    let (bodies, draft) = (transfer.session.bodies, transfer.key(.draft))
    let maximumSize = transfer.machine.requirements.maximumSize(
      status: transfer.received.head?.status ?? 0, limit: context.settings.maximumBodySize)
    if let live = transfer.received.live { context.setLiveBody(live, of: transfer.task) }
    if let offset {
      transfer.machine.claim.use()
      return BodySink(
        resuming: BlobWriter(resuming: draft, at: offset, in: bodies, on: context.settings.pool), at: offset,
        maximumSize: maximumSize)
    }
    return BodySink(
      smallBodyLimit: context.settings.smallBodyLimit, maximumSize: maximumSize,
      expectedSize: transfer.received.multipart == nil ? transfer.response?.expectedContentLength ?? -1 : -1,
      live: transfer.received.live,
      reserveSmall: { [weak transfer, room = bodies.memoryQuota] in
        room?.reserve($0, as: transfer?.key(.body) ?? draft.part(.body)) ?? true
      },
      makeFile: { [pool = context.settings.pool, weak transfer] in
        transfer?.noteKept()
        return BlobWriter(transfer?.key(.draft) ?? draft, in: bodies, on: pool)
      })
  }
}

extension ResponseHead {
  /// `nil` unless the response has parts (multipart/x-mixed-replace).
  fileprivate var multipart: MultipartResponse? {
    headers.contentType.flatMap { MultipartResponse(contentType: $0) }
  }
  fileprivate var isMultipart: Bool { multipart != nil }
}
