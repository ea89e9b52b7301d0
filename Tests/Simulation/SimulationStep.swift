internal import TransferCore

/// A step of a world. Its effect depends only on the state of the world and on its own random seed. Steps can therefore be left out, and
/// the others keep their effects as far as possible.
package struct SimulationStep: Sendable, Hashable {
  package enum Kind: UInt8, CaseIterable, Sendable {
    // Clients
    case createSession, createTask, createBatch, createUnderKey, resume, suspend, cancel, cancelForResumeData
    case patch, sendBody, answer, answerLate, cross, invalidate, deleteSession, reset, flush, waitForEnd,
      look, peek
    // Streams and webhooks
    case openStream, readStreams, dropStream, deliver
    // Actions of processes, in small portions
    case work, commit, engines, wakers
    // Time
    case pass, tick
    // Faults
    case crashService, crashWorker, crashBoth, strike, freezeService, freezeWorker, thaw, startAgain
    case upgradeService, upgradeWorker, fill, keepOut, makeRoom, loseRings
    case jumpForward, jumpBack, sleep, overtake, wake, cutOff, meet, overtakeWorker

    /// Whether the step is a fault.
    package var isFault: Bool { rawValue >= Kind.crashService.rawValue }
  }
  package let kind: Kind
  package let luck: UInt64

  package init(_ kind: Kind, luck: UInt64) { (self.kind, self.luck) = (kind, luck) }
}

extension SimulationStep: CustomStringConvertible {
  package var description: String { "\(kind)(\(luck))" }

  /// Reads a printed step.
  package init?(_ text: some StringProtocol) {
    let parts = text.dropLast().split(separator: "(")
    guard parts.count == 2, let luck = UInt64(parts[1]),
      let kind = Kind.allCases.first(where: { "\($0)" == parts[0] })
    else { return nil }
    self.init(kind, luck: luck)
  }
}

/// The plan of a world, derived from its seed: the possible faults and commands, their frequencies, and the steps.
package struct Plan: Sendable {
  package var seed: UInt64
  package var temper = SimulatedOrigins.Probabilities()
  package var kinds: Kinds = Kinds()
  package var steps: [SimulationStep] = []

  /// The kinds of sessions and tasks that clients create.
  package struct Kinds: Sendable {
    package var sessionTypes: [UInt8] = [0]
    package var asks = true
    package var questions = Questions()
    package var crossings = DecisionRaces()
    package var hasWebhooks = false
    package var webhookFails = 0
    package var webhookAnswers = 0
    package var posts = 300
    package var streams = 0
    package var suspended = 0
    /// How many downloads resume from others, per mille.
    package var resumes = 0
    package var delayed = 0
    package var batch = 8
    /// The limit of connections of a session.
    package var connections = 6
    package var tenants = 2
    /// The number of services when all are healthy.
    package var services = 1
    /// The limit of workers at a time: a current one, and others that were overtaken.
    package var workers = 1
    /// Whether only a part of the services recovers in the end.
    package var healsAPart = false
    package var retries = false
    /// How many tasks have a group, per mille.
    package var groups = 0
    /// How often clients use webhook endpoints, per mille.
    package var endpoints = 0
    /// How many downloads become files, per mille.
    package var destinations = 0
    package var commitsFirst = 500
    /// Whether the world ends by invalidating its sessions. Otherwise suspended tasks are resumed.
    package var invalidatesAtTheEnd = false
    package init() {}
  }

  /// How many delegates make each kind of decision, per mille.
  package struct Questions: Sendable {
    package var challenges = 600
    package var handshakes = 200
    package var redirects = 500
    package var responses = 500
    package var caching = 300
    package var delayedRequests = 300
    package init() {}
  }

  /// The events that race with the answer to a decision, and their weights.
  package struct DecisionRaces: Sendable {
    package enum Kind: UInt8, CaseIterable, Sendable {
      case answer, cancel, suspend, resume, invalidate, takeWorkerOver, takeServiceOver, drainWorker
      case breakOff, expire
    }
    package var weights: [(kind: Kind, weight: Int)] = []
    package init() {}

    func pick(_ luck: inout RandomSource) -> Kind {
      var place = luck.below(max(1, weights.reduce(0) { $0 + $1.weight }))
      for (kind, weight) in weights {
        if place < weight { return kind }
        place -= weight
      }
      return .answer
    }
  }

  /// - Parameters:
  ///   - services: the number of services when all are healthy; `nil` to derive it from the seed.
  ///   - length: the limit of steps.
  package init(seed: UInt64, services: Int? = nil, length: Int = 160) {
    self.seed = seed
    var random = RandomSource(seed: seed &* 0x9E37_79B9 &+ 17)
    choose(&random)
    if let services { kinds.services = services }
    let weights = Self.weights(&random)
    let total = weights.reduce(0) { $0 + $1.weight }
    let count = 20 + random.below(length - 20)
    steps = [SimulationStep(.createSession, luck: random.next())]
    steps.reserveCapacity(count)
    while steps.count < count {
      var place = random.below(total)
      for (kind, weight) in weights {
        if place < weight {
          steps.append(SimulationStep(kind, luck: random.next()))
          break
        }
        place -= weight
      }
    }
  }

  private mutating func choose(_ random: inout RandomSource) {
    func rate(_ most: Int, _ random: inout RandomSource) -> Int {
      random.chance(500) ? 0 : 1 + random.below(most)
    }
    temper.waits = rate(400, &random)
    temper.informs = rate(200, &random)
    temper.progresses = rate(400, &random)
    temper.fails = rate(200, &random)
    temper.isBusy = rate(300, &random)
    temper.answersTwice = rate(200, &random)
    temper.authenticates = rate(100, &random)
    // default, ephemeral, background
    kinds.sessionTypes = (0...2).filter { _ in random.chance(600) }
    if kinds.sessionTypes.isEmpty { kinds.sessionTypes = [UInt8(random.below(3))] }
    chooseQuestions(&random)
    kinds.hasWebhooks = random.chance(400)
    kinds.webhookFails = rate(500, &random)
    kinds.webhookAnswers = rate(800, &random)
    kinds.posts = rate(800, &random)
    kinds.streams = rate(1000, &random)
    kinds.suspended = rate(300, &random)
    kinds.delayed = rate(300, &random)
    kinds.resumes = rate(800, &random)
    kinds.batch = 1 + random.below(12)
    kinds.tenants = random.chance(300) ? 2 : 1
    kinds.retries = random.chance(700)
    kinds.commitsFirst = random.chance(300) ? 1000 : random.below(1000)
    kinds.invalidatesAtTheEnd = random.chance(400)
    kinds.services = [1, 1, 2, 3][random.below(4)]
    kinds.workers = 1 + random.below(3)
    kinds.healsAPart = random.chance(500)
    kinds.connections = [1, 1, 2, 100][random.below(4)]
    // A number of its own, so that the worlds without groups stay as they are.
    var other = RandomSource(seed: seed &* 31 &+ 5)
    kinds.groups = other.chance(300) ? 300 + other.below(700) : 0
    kinds.endpoints = other.chance(300) ? 200 + other.below(800) : 0
    kinds.destinations = other.chance(300) ? 300 + other.below(700) : 0
  }

  /// Chooses how many decisions are requested: none, some, or every possible one.
  private mutating func chooseQuestions(_ random: inout RandomSource) {
    kinds.asks = random.chance(800)
    let isCurious = random.chance(500)
    func rate(_ most: Int, _ random: inout RandomSource) -> Int {
      random.chance(isCurious ? 250 : 500) ? 0 : 1 + random.below(most)
    }
    func share(_ random: inout RandomSource) -> Int {
      isCurious && random.chance(500) ? 1000 : rate(1000, &random)
    }
    temper.challenges = rate(700, &random)
    temper.handshakes = rate(500, &random)
    temper.redirects = rate(500, &random)
    temper.breaksOff = rate(100, &random)
    kinds.questions.challenges = share(&random)
    kinds.questions.handshakes = share(&random)
    kinds.questions.redirects = share(&random)
    kinds.questions.responses = share(&random)
    kinds.questions.caching = share(&random)
    kinds.questions.delayedRequests = share(&random)
    kinds.crossings.weights = DecisionRaces.Kind.allCases.map { kind in
      let least = kind == .answer ? 3 : 0
      let most = kind == .invalidate ? 1 : 4
      return (kind, least + (random.chance(400) ? 0 : 1 + random.below(most)))
    }
  }

  private static func weights(_ random: inout RandomSource) -> [(kind: SimulationStep.Kind, weight: Int)] {
    let isGentle = random.chance(150)
    return SimulationStep.Kind.allCases.compactMap { kind in
      let chance = always.contains(kind) ? 1000 : kind.isFault ? (isGentle ? 0 : 350) : 600
      let isOn = random.chance(chance)
      let weight = (base[kind] ?? 8) << random.below(3)
      return isOn ? (kind, weight) : nil
    }
  }

  private static let always: Set<SimulationStep.Kind> = [
    .createSession, .createTask, .work, .resume, .startAgain, .thaw, .makeRoom, .tick, .answer, .deliver,
    .readStreams,
  ]
  private static let base: [SimulationStep.Kind: Int] = [
    .work: 120, .createTask: 12, .createBatch: 12, .createSession: 4, .commit: 16, .engines: 24, .wakers: 8,
    .answer: 16, .deliver: 8, .readStreams: 6, .openStream: 3, .dropStream: 3, .tick: 3, .pass: 4,
    .invalidate: 1, .deleteSession: 2, .crashService: 2, .crashWorker: 2, .crashBoth: 2, .strike: 5,
    .freezeService: 2,
    .freezeWorker: 2, .thaw: 4, .startAgain: 12, .upgradeService: 1, .upgradeWorker: 2, .fill: 2, .keepOut: 2,
    .makeRoom: 6, .loseRings: 2, .jumpForward: 2, .jumpBack: 2, .sleep: 2, .overtake: 2, .meet: 2, .wake: 4,
    .cutOff: 1, .overtakeWorker: 3,
    .reset: 2,
    .flush: 2,
    .sendBody: 16, .cross: 12, .cancelForResumeData: 4, .peek: 3, .look: 4, .createUnderKey: 6,
    .waitForEnd: 4, .answerLate: 4,
  ]
}
