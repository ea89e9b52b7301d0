import Testing
import TransferModel

@testable import TransferEngine

@Suite struct TransferLifecycleTests {
  private static let request = TransferRequest(url: "http://a.test/y")
  private static let error = TransferError(.timedOut, "late")

  private static func course(_ state: TransferState, isSuspended: Bool = false) -> TransferLifecycle {
    var course = TransferLifecycle()
    switch state {
    case .offWire: break
    case .queued: _ = course.queue()
    case .onWire: course.enterWire()
    case .finishing: course.finish()
    }
    if let hold = state.waitReason { course.pause(for: hold) }
    if isSuspended { course.flow.suspend() }
    return course
  }

  /// The order: the next request, the stored response, the end of the request, the queue.
  @Test func `step off the wire follows a fixed order`() {
    var course = TransferLifecycle()
    #expect(course.step(hasDelivery: false) == .queue && course.step(hasDelivery: true) == .deliver)
    course.endWire(Self.error)
    #expect(course.step(hasDelivery: false) == .settle(Self.error))
    #expect(course.step(hasDelivery: true) == .deliver)
    course.send(Self.request)
    #expect(course.step(hasDelivery: true) == .sendNext(Self.request))
    course.wait(for: .caching)
    #expect(course.step(hasDelivery: true) == .wait && !course.isFree)
    course.decisionReceived()
    #expect(course.isFree)
    course.flow.suspend()
    #expect(course.step(hasDelivery: false) == .wait && !course.isFree)
  }

  @Test(
    arguments: [
      (.offWire(nil), .wait, .proceed, .offWire(nil)), (.queued, .leaveQueue, .proceed, .offWire(nil)),
      (.onWire(nil), .applyFlow, .applyFlow, .onWire(nil)), (.finishing, nil, nil, .finishing),
    ] as [(TransferState, TransferAction?, TransferAction?, TransferState)])
  private func `suspending and resuming depend on the state`(
    _ state: TransferState, _ suspends: TransferAction?, _ resumes: TransferAction?,
    _ after: TransferState
  ) {
    var course = Self.course(state)
    let (first, again) = (course.suspend(), course.suspend())
    #expect(first == suspends && again == nil && course.state == after)
    let (back, twice) = (course.resume(), course.resume())
    #expect(back == resumes && twice == nil && course.state == after)
  }

  @Test func `suspended transfer is not queued`() {
    var course = Self.course(.offWire(nil), isSuspended: true)
    let isQueued = course.queue()
    #expect(!isQueued && course.state == .offWire(nil))
  }

  /// An open decision holds back the response's bytes. If they may still be needed, the first 64 KiB are read anyway.
  @Test func `open decision or full disk pauses receiving`() {
    let limit = TransferLifecycle.discardLimit
    var course = Self.course(.onWire(nil))
    #expect(course.reasonsToWait(size: limit, isFull: false) == [])
    #expect(course.reasonsToWait(size: 0, isFull: true) == .downstream)
    course.pause(for: .redirect(proposed: Self.request))
    #expect(course.reasonsToWait(size: limit - 1, isFull: false) == [])
    #expect(course.reasonsToWait(size: limit, isFull: true) == [.decision, .downstream])
    course.pause(for: .response)
    #expect(course.flow.receive == .decision && course.reasonsToWait(size: limit, isFull: false) == [])
    course.decisionReceived()
    #expect(course.flow.receive == [] && course.waitReason == nil)
  }

  /// A transfer whose files or token are ready keeps its slot, unless it is suspended. If its end was requested meanwhile, it ends.
  @Test func `opened files send the request`() {
    var course = Self.course(.offWire(.files))
    let sends = course.sendWhenReady()
    #expect(sends == .send && course.isFree && course.endOnceOpened == nil)
    course = Self.course(.offWire(.files), isSuspended: true)
    let leaves = course.sendWhenReady()
    #expect(leaves == .leaveQueue && course.waitReason == nil)
    course = Self.course(.offWire(.files))
    let later = course.abort(.init(error: Self.error, keepsPartial: false))
    #expect(later == .later && course.endOnceOpened == .finish(Self.error, keepsPartial: false))
  }

  @Test func `unneeded bytes are read up to a limit`() {
    var course = Self.course(.onWire(nil))
    let (first, last, more) = (
      course.discard(1), course.discard(Int(TransferLifecycle.discardLimit) - 1), course.discard(1)
    )
    #expect(first && last && !more)
    course.discardResponse()
    let isRead = course.discard(1)
    #expect(isRead)
  }

  /// The end waits for files that are being opened, and the first cause counts.
  @Test func `end is immediate, or waits for opening files`() {
    let first = TransferLifecycle.Ending(error: Self.error, keepsPartial: false)
    let second = TransferLifecycle.Ending(error: TransferError(.cancelled, ""), keepsPartial: true)
    var course = Self.course(.onWire(.response))
    let now = course.abort(first)
    #expect(now == .now && course.pendingEnd == nil)
    course = Self.course(.offWire(.files))
    let (later, again) = (course.abort(first), course.abort(second))
    #expect(later == .later && again == .later && course.pendingEnd == first)
    course = Self.course(.finishing)
    let never = course.abort(first)
    #expect(never == .never)
  }

  /// Files, tokens and networks that become ready after the end have no effect.
  @Test(arguments: [.connectivity, .cache, .token(.server)] as [TransferState.WaitReason])
  private func `finished transfer does not continue`(_ hold: TransferState.WaitReason) {
    var course = Self.course(.offWire(hold))
    course.finish()
    let waited = course.stopWaiting(for: hold)
    #expect(!waited && course.move == .wait)
  }

  @Test func `only the awaited event ends a wait`() {
    var course = Self.course(.offWire(.token(.server)))
    let (other, own, twice) = (
      course.stopWaiting(for: .token(.proxy)), course.stopWaiting(for: .token(.server)),
      course.stopWaiting(for: .token(.server))
    )
    #expect(!other && own && !twice)
    for (hold, isHeld) in [
      (.handshake, true), (.bodyStream(behindHandshake: true), true), (.response, false),
      (.bodyStream(behindHandshake: false), false),
    ] as [(TransferState.WaitReason, Bool)] {
      course = Self.course(.onWire(hold))
      let ended = course.endHandshake()
      #expect(ended == isHeld && (course.waitReason == nil) == isHeld)
    }
  }

  /// One request is sent without the cache. The next one uses the cache again.
  @Test func `cache is ignored for one request`() {
    var course = TransferLifecycle()
    course.sendWithoutCache(Self.request)
    #expect(course.next == Self.request && !course.ignoresCache)
    course.prepare()
    #expect(course.next == nil && course.ignoresCache)
    course.send(Self.request)
    course.flow.send = [.source, .rate]
    course.endWire(nil)
    course.discardRest()
    course.prepare()
    #expect(!course.ignoresCache && course.wireEnd == nil && !course.isLeaving)
    #expect(course.flow.send == .rate)
  }
}
