import Curl
import EngineAPI
import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

/// One transfer among an origin, a delegate and clients that do anything at any time. What its machine says is done as its worker does it.
private struct Walk {
  private var generator: SplitMix64
  private(set) var machine = TransferMachine(Walk.job)
  private(set) var isQueued = false
  private(set) var ends = 0
  /// Requests that went out.
  private(set) var sent = 0
  /// Requests of the task that were decided on.
  private var decided = 1
  /// The origin redirects no more, and the delegate goes along.
  private var isCalm = false

  private static let job = TransferJob(
    task: TaskID(high: 1, low: 1), session: .shared, configuration: .init(), kind: .data,
    request: TransferRequest(url: "http://a.test/x"), priority: 0.5)
  private static let other = TransferRequest(url: "http://a.test/y")
  private static let asked = try? CurlURL(job.request.url)

  init(seed: UInt64) throws {
    generator = SplitMix64(seed: seed)
    enqueue()
  }

  private mutating func chance(_ part: Int) -> Bool { Int.random(in: 0..<part, using: &generator) == 0 }

  // MARK: What a worker does

  private mutating func enqueue() { isQueued = machine.course.queue() || isQueued }

  private mutating func proceed() {
    perform(machine.course.step(hasDelivery: false))
  }

  private mutating func perform(_ action: TransferAction?) {
    switch action {
    case .proceed: proceed()
    case .sendNext(let next, _): sendNext(next)
    case .send: goOut([])
    case .leaveQueue: isQueued = false
    case .settle: settle()
    case .finish: finish()
    case .queue: enqueue()
    default: break
    }
  }

  private mutating func sendNext(_ next: TransferRequest) {
    machine.prepare(next, leavesOrigin: false)
    machine.course.park()
    isQueued = false
    decided += 1
    enqueue()
  }

  private mutating func settle() {
    if !isCalm, machine.course.wireEnd == nil, chance(4) {
      machine.course.endWire(nil)
      machine.course.wait(for: .caching)
      isQueued = false
      _ = machine.ask()
    } else {
      finish()
    }
  }

  private mutating func finish() {
    machine.course.finish()
    isQueued = false
    ends += 1
  }

  /// Takes its place on the wire, or does first what must be done before.
  private mutating func goOut(_ needs: [TransferState.WaitReason]) {
    if let need = needs.first(where: { _ in !isCalm && chance(3) }) {
      machine.course.wait(for: need)
    } else {
      machine.course.goOnWire()
      sent += 1
    }
  }

  // MARK: What happens

  mutating func step() throws {
    switch Int.random(in: 0..<10, using: &generator) {
    case 0: perform(machine.course.suspend())
    case 1: perform(machine.course.resume())
    case 2 where chance(20): cancel()
    case 3, 4: try answer()
    default: happen()
    }
  }

  private mutating func cancel() {
    let ending = TransferCourse.Ending(error: TransferError(.cancelled, ""), keepsPartial: true)
    guard machine.course.abort(ending) == .now else { return }
    if machine.course.state.isOnWire {
      machine.course.leave()
      _ = machine.course.endHandshake()
      machine.course.park()
    }
    finish()
  }

  private mutating func answer() throws {
    let answers: [TransferAnswer] = [
      .redirect(Self.other), .redirect(nil), .challenge(.useNoCredential), .allow,
      .caching(.allowed, headers: nil), .byDefault,
    ]
    let number = isCalm || chance(2) ? machine.questions : Int.random(in: 0...9, using: &generator)
    let asked = TransferMachine.Request(
      request: Self.job.request, url: try #require(Self.asked), proxy: nil,
      sharedConfiguration: Self.job.sharedConfiguration, asksForRedirects: true)
    let answer = isCalm ? .byDefault : answers.randomElement(using: &generator) ?? .allow
    switch machine.take(answer, to: number, about: asked) {
    case .challenge:
      // Nothing is shown: the answer that is here is the task's.
      machine.course.decided()
      perform(machine.course.move)
    case .handshake: _ = machine.course.endHandshake()
    case .fail: cancel()
    case .follow, .accept, .allow, .store: perform(machine.course.move)
    case .send, .drop: break
    }
  }

  private mutating func happen() {
    switch machine.course.state {
    case .finishing: break
    case .queued: goOut([.files, .token(.server), .cache])
    case .parked:
      if machine.course.stopWaiting(for: .files) {
        perform(machine.course.endOnceOpened ?? machine.course.sendAtLast())
      } else if machine.course.stopWaiting(for: .token(.server)) {
        perform(machine.course.sendAtLast())
      } else if machine.course.stopWaiting(for: .connectivity) || machine.course.stopWaiting(for: .cache) {
        isQueued = false
        proceed()
      }
    case .onWire: onWire()
    }
  }

  private mutating func onWire() {
    guard machine.course.hold == nil, !isCalm, !machine.course.flow.isSuspended, !chance(3) else {
      // A held answer may end; a held handshake goes nowhere.
      guard machine.course.hold?.isInHandshake != true else { return }
      return wireEnds()
    }
    guard machine.wantsBody else {
      if !machine.course.discard(32 * 1024) { wireEnds() }
      return
    }
    let holds: [TransferState.WaitReason] = [
      .redirect(proposed: Self.other), .response, .challenge(.server), .handshake,
    ]
    if chance(2), let hold = holds.randomElement(using: &generator) {
      machine.course.pause(for: hold)
      _ = machine.ask()
    } else if chance(3) {
      machine.course.send(Self.other)
    } else if chance(5) {
      machine.course.endWire(TransferError(.cannotParseResponse, ""))
    }
  }

  private mutating func wireEnds() {
    let error = chance(4) ? TransferError(.networkConnectionLost, "") : nil
    // What has an answer that is asked about had a network.
    let mayLackNetwork = error != nil && machine.course.hold == nil && !isCalm
    let verdict = machine.wireEnded(
      error, status: 200, hasResponse: true, lacksNetwork: mayLackNetwork && chance(2),
      at: Timestamp(microseconds: 0))
    switch verdict {
    case .waitForNetwork:
      machine.course.forgetAnswer()
      machine.course.wait(for: .connectivity)
      (isQueued, decided) = (false, decided + 1)
    case .settle:
      machine.course.park()
      settle()
    default: perform(verdict)
    }
  }

  // MARK: What must hold

  func check() throws {
    let course = machine.course
    if course.state == .queued {
      try #require(isQueued && course.hold == nil && !course.flow.isSuspended && course.next == nil)
    }
    if course.hold?.isInHandshake == true { try #require(course.state.isOnWire) }
    if course.flow.receive.contains(.decision) {
      try #require(course.hold != nil || course.state == .finishing)
    }
    try #require((course.state == .finishing) == (ends == 1) && ends <= 1)
    if ends == 1 { try #require(!isQueued && course.hold == nil) }
    // No request goes out that nobody decided on, and none twice.
    try #require(sent <= decided)
  }

  /// Everybody goes along from here on.
  mutating func calmDown() throws {
    isCalm = true
    for _ in 0..<20 where ends == 0 {
      perform(machine.course.resume())
      happen()
      try answer()
      try check()
    }
  }
}

@Suite struct TransferWalkTests {
  /// Whatever happens in whatever order: a transfer ends once, and comes to its end when it is let.
  @Test(arguments: 1...200 as ClosedRange<UInt64>) func walk(_ seed: UInt64) throws {
    var walk = try Walk(seed: seed)
    for _ in 0..<Int(seed) {
      try walk.step()
      try walk.check()
    }
    try walk.calmDown()
    #expect(walk.ends == 1)
  }
}
