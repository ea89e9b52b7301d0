internal import ContentCoding
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import HTTPFields
internal import TransferModel

/// The stage that moves the bytes of bodies between libcurl and the transfer.
final class ByteReceiver {
  private let context: TransferContext
  private let heads: HeadReceiver
  private let delivery: ResponseDelivery
  private let flow: FlowController

  init(
    _ context: TransferContext, _ heads: HeadReceiver, _ delivery: ResponseDelivery, _ flow: FlowController
  ) {
    self.context = context
    self.heads = heads
    self.delivery = delivery
    self.flow = flow
  }

  // MARK: Response bodies

  func received(_ bytes: UnsafeRawBufferPointer, by transfer: Transfer) -> BodyDisposition {
    guard !transfer.machine.lifecycle.isLeaving else { return .refused }
    // libcurl has not paused yet for reasons that arose too early or within its current buffer.
    guard transfer.flow.receive.isEmpty else { return .paused }
    let now = ContinuousClock.now
    transfer.clock.touch(at: now)
    if transfer.received.head == nil {
      guard let head = transfer.received.provisionalHead else { return .refused }
      heads.handle(head, transfer)
      guard transfer.flow.receive.isEmpty else { return .paused }
    }
    guard transfer.machine.wantsBody, let sink = transfer.sink ?? sinkOfMultipart(transfer) else {
      return transfer.machine.lifecycle.discard(bytes.count) ? .accepted : .refused
    }
    holdBack(transfer, sink)
    guard transfer.flow.receive.isEmpty else { return .paused }
    if let delay = transfer.limits.debt(at: .now) {
      hold(transfer, .receive, for: delay)
      return .paused
    }
    let disposition = receive(bytes, into: sink, transfer)
    guard case .accepted = disposition, isOver(transfer, bytes.count, now) else { return disposition }
    transfer.flow.receive.insert(.timeSlice)
    flow.pauseForTimeSlice(transfer)
    return .acceptedThenHolding(transfer.flow.directions)
  }

  /// Returns whether the transfer has used its slice of the tick. HTTP/2 streams have no byte limit, because pausing one costs a frame.
  private func isOver(_ transfer: Transfer, _ count: Int, _ now: ContinuousClock.Instant) -> Bool {
    transfer.timeSlice.consume(
      count, at: now, tick: context.loop.tick, isAlone: context.transfers.count == 1,
      isStream: transfer.received.head?.httpVersion == "HTTP/2")
  }

  /// Pauses receiving if the disk or a reader is full, or a decision holds back the body. Readers report when they have room again.
  private func holdBack(_ transfer: Transfer, _ sink: BodySink) {
    let isFull = sink.isFull || transfer.received.live?.requestCapacity() == false
    let reasons = transfer.machine.lifecycle.reasonsToWait(size: sink.size, isFull: isFull)
    transfer.flow.receive.formUnion(reasons)
  }

  private func receive(
    _ bytes: UnsafeRawBufferPointer, into sink: BodySink, _ transfer: Transfer
  ) -> BodyDisposition {
    do throws(ContentDecoder.Fault) {
      guard
        let decoder = try transfer.content.decoder(for: transfer.received.head?.headers.contentCodings ?? [])
      else {
        guard fits(bytes.count, transfer) else { return .refused }
        transfer.limits.charge(bytes.count, at: .now)
        return deliver(bytes, to: sink, transfer) ? .accepted : .refused
      }
      return try transfer.content.decode(
        bytes, decoder, take: { takeDecoded($0, $1, into: sink, transfer) },
        consumed: { transfer.limits.charge($0, at: .now) })
    } catch {
      transfer.content.fault = error
      return .refused
    }
  }

  /// Returns whether bytes belong to the announced range. If not, none of the received bytes is used.
  private func fits(_ count: Int, _ transfer: Transfer) -> Bool {
    switch transfer.machine.ranges.append(count) {
    case .taken: return true
    case .startAgain: transfer.replaceRequest(transfer.request)
    case .fail: transfer.machine.lifecycle.endWire(transfer.rangesDoNotFit)
    }
    return false
  }

  private func takeDecoded(
    _ bytes: UnsafeRawBufferPointer, _ count: Int, into sink: BodySink, _ transfer: Transfer
  ) -> ContentDecoding.SinkResult {
    guard deliver(bytes, to: sink, transfer) else { return .refused }
    if count >= ContentDecoding.atOnce { hold(transfer, .receive, for: .zero) }
    holdBack(transfer, sink)
    return transfer.flow.receive.isEmpty ? .taken : .full
  }

  private func deliver(_ bytes: UnsafeRawBufferPointer, to sink: BodySink, _ transfer: Transfer) -> Bool {
    guard transfer.received.multipart != nil else { return sink.append(bytes, drained: transfer.drained) }
    transfer.received.multipart?.add(bytes)
    return passParts(transfer)
  }

  // MARK: Parts

  private func sinkOfMultipart(_ transfer: Transfer) -> BodySink? {
    guard transfer.received.multipart != nil else { return nil }
    transfer.sink = delivery.makeSink(transfer)
    return transfer.sink
  }

  /// Delivers parts of a multipart response until one needs a decision, or too many events are not stored yet.
  func passParts(_ transfer: Transfer) -> Bool {
    guard transfer.received.multipart?.isMalformed != true else { return false }
    while transfer.waitReason == nil {
      if transfer.received.multipart?.isAtHead == true, transfer.received.live?.requestPart() == false {
        transfer.machine.lifecycle.pause(for: .parts)
        break
      }
      guard let piece = transfer.received.multipart?.next() else { break }
      switch piece {
      case .head(let fields):
        let head =
          transfer.received.head ?? ResponseHead(httpVersion: "", status: 200, headers: HTTPHeaders())
        delivery.announce(TransferResponse(part: fields, of: head, at: transfer.url), transfer)
      case .body(let bytes):
        let isTaken = bytes.withUnsafeBytes {
          transfer.sink?.append($0, drained: transfer.drained) ?? true
        }
        guard isTaken else { return false }
      case .end: break
      }
    }
    return true
  }

  /// Handles the end of a multipart response, which may lack its last delimiter. A response without parts is announced as an empty one,
  /// because a task that succeeds has a response.
  func finishParts(_ transfer: Transfer) -> Bool {
    transfer.received.multipart?.finish()
    guard passParts(transfer) else { return false }
    if transfer.response == nil, transfer.waitReason == nil, let head = transfer.received.head {
      delivery.announce(TransferResponse(head, at: transfer.url), transfer)
    }
    return true
  }

  /// Delivers the parts that wait, then continues the transfer.
  func passWaitingParts(_ transfer: Transfer) -> TransferAction {
    guard passParts(transfer) else {
      return .abort(
        TransferError(.bodyTooLarge, "the body is larger than allowed", failingURL: transfer.request.url))
    }
    return transfer.resume()
  }

  // MARK: Room

  /// Delivers held parts if the events of earlier parts are stored.
  func partsStored(_ transfer: Transfer) -> TransferAction {
    guard transfer.waitReason == .parts, transfer.received.live?.requestPart() == true else { return .wait }
    transfer.machine.lifecycle.decisionReceived()
    return passWaitingParts(transfer)
  }

  /// Continues a transfer that has room downstream again.
  func roomDownstream(_ transfer: Transfer) -> TransferAction {
    transfer.sink?.drainEnded()
    guard transfer.sink?.isFull != true, transfer.received.live?.requestCapacity() != false else {
      return .wait
    }
    flow.release(transfer, receive: .downstream)
    return transfer.caching.delivery == nil ? .wait : .deliver
  }

  // MARK: Request bodies

  func read(of transfer: Transfer, into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition {
    guard !transfer.machine.lifecycle.isLeaving, let source = transfer.source else { return .failed }
    guard transfer.flow.send.isEmpty else { return .paused }
    if let delay = transfer.limits.debt(at: .now) {
      hold(transfer, .send, for: delay)
      return .paused
    }
    transfer.touch()
    let room =
      transfer.limits.areAny ? UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(16 * 1024)) : buffer
    let disposition = source.read(into: room)
    switch disposition {
    case .bytes(let count):
      transfer.bytesTaken += Int64(count)
      transfer.limits.charge(count, at: .now)
    case .paused: transfer.flow.send.insert(.source)
    case .end: source.markSent()
    case .failed: break
    }
    return disposition
  }

  /// Pauses a direction that has exceeded its rate or its fair share.
  private func hold(_ transfer: Transfer, _ direction: FlowDirections, for delay: Duration) {
    if direction.contains(.receive) { transfer.flow.receive.insert(.rate) }
    if direction.contains(.send) { transfer.flow.send.insert(.rate) }
    flow.holdForRate(transfer, direction, delay)
  }
}
