import Testing
import TransferModel

@testable import TransferEngine

@Suite struct TransferCourseTests {
  private static let request = TransferRequest(url: "http://a.test/y")
  private static let error = TransferError(.timedOut, "late")

  private static func course(_ state: TransferState, isSuspended: Bool = false) -> TransferCourse {
    var course = TransferCourse()
    switch state {
    case .parked: break
    case .queued: _ = course.queue()
    case .onWire: course.goOnWire()
    case .finishing: course.finish()
    }
    if let hold = state.hold { course.pause(for: hold) }
    if isSuspended { course.flow.suspend() }
    return course
  }

  /// What is to be sent comes first, then what is stored, then how the wire ended; only then the queue.
  @Test func stepsOffTheWire() {
    var course = TransferCourse()
    #expect(course.step(hasDelivery: false) == .queue && course.step(hasDelivery: true) == .deliver)
    course.endWire(Self.error)
    #expect(course.step(hasDelivery: false) == .settle(Self.error))
    #expect(course.step(hasDelivery: true) == .deliver)
    course.send(Self.request)
    #expect(course.step(hasDelivery: true) == .sendNext(Self.request))
    course.wait(for: .caching)
    #expect(course.step(hasDelivery: true) == .wait && !course.isFree)
    course.decided()
    #expect(course.isFree)
    course.flow.suspend()
    #expect(course.step(hasDelivery: false) == .wait && !course.isFree)
  }

  @Test(
    arguments: [
      (.parked(nil), .wait, .proceed, .parked(nil)), (.queued, .leaveQueue, .proceed, .parked(nil)),
      (.onWire(nil), .applyFlow, .applyFlow, .onWire(nil)), (.finishing, nil, nil, .finishing),
    ] as [(TransferState, TransferAction?, TransferAction?, TransferState)])
  private func suspending(
    _ state: TransferState, _ suspends: TransferAction?, _ resumes: TransferAction?,
    _ after: TransferState
  ) {
    var course = Self.course(state)
    let (first, again) = (course.suspend(), course.suspend())
    #expect(first == suspends && again == nil && course.state == after)
    let (back, twice) = (course.resume(), course.resume())
    #expect(back == resumes && twice == nil && course.state == after)
  }

  @Test func aSuspendedTransferDoesNotQueue() {
    var course = Self.course(.parked(nil), isSuspended: true)
    let isQueued = course.queue()
    #expect(!isQueued && course.state == .parked(nil))
  }

  /// What is asked about an answer holds its bytes; the first 64 KiB of what may yet be of use are read all the same.
  @Test func bytesThatWait() {
    let limit = TransferCourse.discardLimit
    var course = Self.course(.onWire(nil))
    #expect(course.reasonsToWait(size: limit, isFull: false) == [])
    #expect(course.reasonsToWait(size: 0, isFull: true) == .downstream)
    course.pause(for: .redirect(proposed: Self.request))
    #expect(course.reasonsToWait(size: limit - 1, isFull: false) == [])
    #expect(course.reasonsToWait(size: limit, isFull: true) == [.decision, .downstream])
    course.pause(for: .response)
    #expect(course.flow.receive == .decision && course.reasonsToWait(size: limit, isFull: false) == [])
    course.decided()
    #expect(course.flow.receive == [] && course.hold == nil)
  }

  /// A request whose files or token have come keeps its slot, unless it is suspended; one that was ended meanwhile ends.
  @Test func openedFilesSendTheRequest() {
    var course = Self.course(.parked(.files))
    let sends = course.sendAtLast()
    #expect(sends == .send && course.isFree && course.endOnceOpened == nil)
    course = Self.course(.parked(.files), isSuspended: true)
    let leaves = course.sendAtLast()
    #expect(leaves == .leaveQueue && course.hold == nil)
    course = Self.course(.parked(.files))
    let later = course.abort(.init(error: Self.error, keepsPartial: false))
    #expect(later == .later && course.endOnceOpened == .finish(Self.error, keepsPartial: false))
  }

  @Test func bytesThatNobodyWants() {
    var course = Self.course(.onWire(nil))
    let (first, last, more) = (
      course.discard(1), course.discard(Int(TransferCourse.discardLimit) - 1), course.discard(1)
    )
    #expect(first && last && !more)
    course.forgetAnswer()
    let isRead = course.discard(1)
    #expect(isRead)
  }

  /// What is being opened comes first, and the first cause counts.
  @Test func ends() {
    let first = TransferCourse.Ending(error: Self.error, keepsPartial: false)
    let second = TransferCourse.Ending(error: TransferError(.cancelled, ""), keepsPartial: true)
    var course = Self.course(.onWire(.response))
    let now = course.abort(first)
    #expect(now == .now && course.endsOnceOpened == nil)
    course = Self.course(.parked(.files))
    let (later, again) = (course.abort(first), course.abort(second))
    #expect(later == .later && again == .later && course.endsOnceOpened == first)
    course = Self.course(.finishing)
    let never = course.abort(first)
    #expect(never == .never)
  }

  /// What becomes ready after the end is for nobody.
  @Test(arguments: [.connectivity, .cache, .token(.server)] as [TransferState.WaitReason])
  private func nothingGoesOnAfterTheEnd(_ hold: TransferState.WaitReason) {
    var course = Self.course(.parked(hold))
    course.finish()
    let waited = course.stopWaiting(for: hold)
    #expect(!waited && course.move == .wait)
  }

  @Test func onlyWhatIsWaitedForLetsGo() {
    var course = Self.course(.parked(.token(.server)))
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
      #expect(ended == isHeld && (course.hold == nil) == isHeld)
    }
  }

  /// A request goes out past the cache once: the one after it asks the cache again.
  @Test func theCacheIsPassedOnce() {
    var course = TransferCourse()
    course.sendWithoutCache(Self.request)
    #expect(course.next == Self.request && !course.ignoresCache)
    course.prepare()
    #expect(course.next == nil && course.ignoresCache)
    course.send(Self.request)
    course.flow.send = [.source, .rate]
    course.endWire(nil)
    course.leave()
    course.prepare()
    #expect(!course.ignoresCache && course.wireEnd == nil && !course.isLeaving)
    #expect(course.flow.send == .rate)
  }
}
