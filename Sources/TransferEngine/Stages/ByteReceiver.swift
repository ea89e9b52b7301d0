internal import ContentCoding
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import HTTPFields
internal import TransferModel

/// The bytes of bodies, as libcurl brings them and fetches them.
final class ByteReceiver {
  private let context: TransferContext
  private let heads: HeadReceiver
  private let delivery: ResponseDelivery
  private let flow: TransferFlow

  init(
    _ context: TransferContext, _ heads: HeadReceiver, _ delivery: ResponseDelivery, _ flow: TransferFlow
  ) {
    self.context = context
    self.heads = heads
    self.delivery = delivery
    self.flow = flow
  }

  // MARK: An answer's

  func received(_ bytes: UnsafeRawBufferPointer, by transfer: Transfer) -> BodyDisposition {
    guard !transfer.machine.course.isLeaving else { return .refused }
    // Holds that came too early for libcurl, and those that begin in the middle of its buffer.
    guard transfer.flow.receive.isEmpty else { return .paused }
    let now = ContinuousClock.now
    transfer.clock.touch(at: now)
    if transfer.answer.head == nil {
      guard let head = transfer.answer.provisionalHead else { return .refused }
      heads.takeUp(head, transfer)
      guard transfer.flow.receive.isEmpty else { return .paused }
    }
    guard transfer.machine.wantsBody, let sink = transfer.sink ?? sinkOfMultipart(transfer) else {
      return transfer.machine.course.discard(bytes.count) ? .accepted : .refused
    }
    holdBack(transfer, sink)
    guard transfer.flow.receive.isEmpty else { return .paused }
    if let delay = transfer.limits.debt(at: .now) {
      hold(transfer, .receive, for: delay)
      return .paused
    }
    let disposition = take(bytes, into: sink, transfer)
    guard case .accepted = disposition, isOver(transfer, bytes.count, now) else { return disposition }
    transfer.flow.receive.insert(.turn)
    flow.holdForTurn(transfer)
    return .acceptedThenHolding(transfer.flow.directions)
  }

  /// Whether the transfer's turn is over. HTTP/2 streams have no byte limit, because pausing one costs a frame.
  private func isOver(_ transfer: Transfer, _ count: Int, _ now: ContinuousClock.Instant) -> Bool {
    transfer.timeSlice.consume(
      count, at: now, tick: context.loop.tick, isAlone: context.transfers.count == 1,
      isStream: transfer.answer.head?.httpVersion == "HTTP/2")
  }

  /// Holds what nobody can take now. Whoever reads along says when there is room again.
  private func holdBack(_ transfer: Transfer, _ sink: BodySink) {
    let isFull = sink.isFull || transfer.answer.live?.askForRoom() == false
    let reasons = transfer.machine.course.reasonsToWait(size: sink.size, isFull: isFull)
    transfer.flow.receive.formUnion(reasons)
  }

  private func take(
    _ bytes: UnsafeRawBufferPointer, into sink: BodySink, _ transfer: Transfer
  ) -> BodyDisposition {
    do throws(ContentDecoder.Fault) {
      guard
        let decoder = try transfer.content.decoder(for: transfer.answer.head?.headers.contentCodings ?? [])
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

  /// Whether bytes belong to the range that was announced. If not, none of what came is used.
  private func fits(_ count: Int, _ transfer: Transfer) -> Bool {
    switch transfer.machine.ranges.take(count) {
    case .taken: return true
    case .startAgain: transfer.sendInstead(transfer.request)
    case .fail: transfer.machine.course.endWire(transfer.rangesDoNotFit)
    }
    return false
  }

  private func takeDecoded(
    _ bytes: UnsafeRawBufferPointer, _ count: Int, into sink: BodySink, _ transfer: Transfer
  ) -> ContentDecoding.Room {
    guard deliver(bytes, to: sink, transfer) else { return .refused }
    if count >= ContentDecoding.atOnce { hold(transfer, .receive, for: .zero) }
    holdBack(transfer, sink)
    return transfer.flow.receive.isEmpty ? .taken : .full
  }

  private func deliver(_ bytes: UnsafeRawBufferPointer, to sink: BodySink, _ transfer: Transfer) -> Bool {
    guard transfer.answer.multipart != nil else { return sink.append(bytes, drained: transfer.drained) }
    transfer.answer.multipart?.add(bytes)
    return passParts(transfer)
  }

  // MARK: Parts

  private func sinkOfMultipart(_ transfer: Transfer) -> BodySink? {
    guard transfer.answer.multipart != nil else { return nil }
    transfer.sink = delivery.makeSink(transfer)
    return transfer.sink
  }

  /// Delivers parts of a multipart response until one needs a decision, or too many events are not stored yet.
  func passParts(_ transfer: Transfer) -> Bool {
    guard transfer.answer.multipart?.isMalformed != true else { return false }
    while transfer.hold == nil {
      if transfer.answer.multipart?.isAtHead == true, transfer.answer.live?.askForPart() == false {
        transfer.machine.course.pause(for: .parts)
        break
      }
      guard let piece = transfer.answer.multipart?.next() else { break }
      switch piece {
      case .head(let fields):
        let head = transfer.answer.head ?? ResponseHead(httpVersion: "", status: 200, headers: HTTPHeaders())
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

  /// The end of a multipart answer, which may lack its last delimiter. One without parts is an empty answer: a task that succeeds has
  /// a response.
  func finishParts(_ transfer: Transfer) -> Bool {
    transfer.answer.multipart?.finish()
    guard passParts(transfer) else { return false }
    if transfer.response == nil, transfer.hold == nil, let head = transfer.answer.head {
      delivery.announce(TransferResponse(head, at: transfer.url), transfer)
    }
    return true
  }

  /// Delivers the parts that wait, and goes on with the transfer.
  func passWaitingParts(_ transfer: Transfer) -> TransferAction {
    guard passParts(transfer) else {
      return .abort(
        TransferError(.bodyTooLarge, "the body is larger than allowed", failingURL: transfer.request.url))
    }
    return transfer.goOn()
  }

  // MARK: Room

  /// Delivers held parts if the earlier ones' events are stored.
  func partsStored(_ transfer: Transfer) -> TransferAction {
    guard transfer.hold == .parts, transfer.answer.live?.askForPart() == true else { return .wait }
    transfer.machine.course.decided()
    return passWaitingParts(transfer)
  }

  /// There is room downstream again.
  func roomDownstream(_ transfer: Transfer) -> TransferAction {
    transfer.sink?.drainEnded()
    guard transfer.sink?.isFull != true, transfer.answer.live?.askForRoom() != false else { return .wait }
    flow.release(transfer, receive: .downstream)
    return transfer.caching.delivery == nil ? .wait : .deliver
  }

  // MARK: A request's

  func read(of transfer: Transfer, into buffer: UnsafeMutableRawBufferPointer) -> UploadDisposition {
    guard !transfer.machine.course.isLeaving, let source = transfer.source else { return .failed }
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
    case .end: source.wasSent()
    case .failed: break
    }
    return disposition
  }

  /// It has moved more than its rate allows, or than is fair.
  private func hold(_ transfer: Transfer, _ direction: FlowDirections, for delay: Duration) {
    if direction.contains(.receive) { transfer.flow.receive.insert(.rate) }
    if direction.contains(.send) { transfer.flow.send.insert(.rate) }
    flow.holdForRate(transfer, direction, delay)
  }
}
