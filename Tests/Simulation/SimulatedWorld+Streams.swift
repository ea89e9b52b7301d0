internal import Cluster
internal import JSON
internal import Ledger
internal import SimulatedStores
internal import TransferCore
internal import TransferModel
internal import TransferService

extension SimulatedWorld {
  /// A client that reads events, and reconnects at its last event when the stream breaks. For one thread.
  final class Reader: @unchecked Sendable {
    let tenant: Tenant
    /// `nil` for all sessions of the tenant.
    let session: SessionID?
    var subscription: EventSubscription?
    weak var node: ServiceNode?
    var hasNews = false
    /// The last event number read; `nil` if none was read yet.
    var cursor: Int64?
    /// Every event after this number must arrive, because the stream began at or before it.
    var certain: Int64 = 0
    /// The index of the next expected event among the events of the scope.
    var position = 0
    /// The number of the pending connection attempt; `nil` if there is none.
    var connecting: Int?
    private var connections = 0

    init(_ tenant: Tenant, _ session: SessionID?) { (self.tenant, self.session) = (tenant, session) }

    func connect() -> Int {
      connections += 1
      connecting = connections
      return connections
    }

    func lose() { (subscription, node, connecting) = (nil, nil, nil) }
  }

  func openStream(_ luck: inout RandomSource) {
    guard mayCall else { return }
    if readers.count < 4 {
      let tenant = tenant(&luck)
      let session = luck.chance(500) ? pickSession(&luck)?.session : nil
      let reader = Reader(session?.tenant ?? tenant, session?.id)
      if luck.chance(500) { reader.cursor = 0 }
      readers.append(reader)
    }
    for reader in readers { connect(reader) }
  }

  private func connect(_ reader: Reader) {
    guard reader.subscription == nil, reader.connecting == nil, mayCall else { return }
    let connection = reader.connect()
    let wish = EventFilter(after: reader.cursor, types: nil, wantsProgress: false, wantsData: false)
    call(
      reader.tenant, about: reader.session.map { .session($0) },
      { view, node in
        // Events that others have committed since this service last looked are still to come.
        let place = node.process.store.lastSequence
        if let session = reader.session {
          return (try await view.events(ofSession: session, wish), node, place)
        }
        return (try await view.events(wish), node, place)
      },
      lost: { if reader.connecting == connection { reader.connecting = nil } }
    ) { result in
      let isWanted = reader.connecting == connection
      if isWanted { reader.connecting = nil }
      guard case .success(let (subscription, node, place)) = result, !node.process.isDead else { return }
      guard isWanted else { return subscription.close() }
      // The stream began between the request and the reply.
      reader.certain = reader.cursor ?? node.process.store.lastSequence
      reader.cursor = reader.cursor ?? place
      (reader.subscription, reader.node, reader.hasNews) = (subscription, node, true)
      subscription.start { [weak reader] in
        if !InjectedFault.wakesNobody.isPresent { reader?.hasNews = true }
      }
    }
  }

  func dropStream(_ luck: inout RandomSource) {
    guard let reader = luck.pick(readers) else { return }
    if luck.chance(500) { read(reader) }
    reader.subscription?.close()
    reader.lose()
  }

  func readStreams() {
    for reader in readers where reader.hasNews && reader.node?.isFrozen == false { read(reader) }
  }

  private func read(_ reader: Reader) {
    guard let subscription = reader.subscription else { return }
    reader.hasNews = false
    while let bytes = subscription.read(maximum: 1 << 30) {
      for text in ServerSentEvents.split(bytes) {
        // The first event contains the reconnection delay.
        let event = text.starts(with: "retry: ".utf8) ? text.drop { $0 != 0x0A }.dropFirst() : text
        if let number = ServerSentEvents.id(of: event) {
          take(number, reader)
        } else if ServerSentEvents.type(of: event) == .eventsDidReset {
          chronicle.violate(.streamsAreWhole, "a stream was reset, although no event was pruned")
        }
      }
      executor.run()
    }
  }

  private func take(_ number: Int64, _ reader: Reader) {
    let all = all(reader)
    while reader.position < all.count, all[reader.position].number != number {
      let skipped = all[reader.position]
      if skipped.number > number { break }
      if skipped.number > reader.certain, !mayBeMissing(skipped.session, reader) {
        return chronicle.violate(
          .streamsAreWhole, "a stream shows event \(number), but event \(skipped.number) is missing")
      }
      reader.position += 1
    }
    guard reader.position < all.count, all[reader.position].number == number else {
      let isKnown = all.contains { $0.number == number }
      return chronicle.violate(
        isKnown ? .streamsAreWhole : number > chronicle.lastNumber ? .toldBehindTheCommit : .tenantsApart,
        "a stream shows event \(number) after event \(reader.cursor ?? 0)")
    }
    if let cursor = reader.cursor, number <= cursor {
      return chronicle.violate(
        .streamsAreWhole,
        "a stream of \(reader.node?.address ?? "") shows event \(number) after event \(cursor)")
    }
    (reader.cursor, reader.certain) = (number, number)
    reader.position += 1
  }

  private func all(_ reader: Reader) -> [(number: Int64, session: SessionID)] {
    (reader.session.map { chronicle.ofSession[$0] } ?? chronicle.ofTenant[reader.tenant]) ?? []
  }

  /// Returns whether an event may be missing: its session was deleted, or is an ephemeral session of another service.
  private func mayBeMissing(_ session: SessionID, _ reader: Reader) -> Bool {
    guard let story = chronicle.sessions[session], !story.isBeingDeleted else { return true }
    return story.session.type == .ephemeral && story.home != reader.node?.number
  }

  /// Checks that readers receive every event in the end.
  func checkStreams() {
    for reader in readers where reader.subscription != nil {
      for entry in all(reader).dropFirst(reader.position)
      where entry.number > reader.certain && !mayBeMissing(entry.session, reader) {
        return chronicle.violate(
          .streamsAreWhole,
          "a stream of \(reader.node?.address ?? "") never shows event \(entry.number); its cursor is \(reader.cursor ?? 0), its shard \(reader.session.map { "\($0.shard.number)" } ?? "all")"
        )
      }
    }
  }

  // MARK: Webhooks

  func deliver(_ luck: inout RandomSource) { _ = dispatch(&luck) }

  /// Answers one of the messages that were sent.
  func dispatch(_ luck: inout RandomSource) -> Bool {
    one(of: services, &luck) { dispatch($0, &$1) }
  }

  private func dispatch(_ node: ServiceNode, _ luck: inout RandomSource) -> Bool {
    let sender = node.process.sender
    guard node.answers, !sender.isEmpty else { return false }
    let post = sender.take(Int(luck.next() % UInt64(sender.count)))
    chronicle.receive(post.id)
    guard !luck.chance(isHealed ? 0 : plan.kinds.webhookFails) else {
      let isGone = plan.kinds.endpoints > 0 && luck.chance(100)
      post.respond(isGone ? 410 : 500)
      return true
    }
    var answer = ""
    if let id = post.decision, let known = chronicle.decisions[id],
      isHealed || luck.chance(plan.kinds.webhookAnswers)
    {
      answer = self.answer(to: known.decision, &luck)
    }
    post.respond(204, answer)
    return true
  }
}
