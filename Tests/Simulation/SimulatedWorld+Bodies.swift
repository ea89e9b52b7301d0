internal import BlobStore
internal import Cluster
internal import EngineAPI
internal import LifeCycle
internal import SimulatedStores
internal import TransferCore
internal import TransferModel
internal import TransferService

/// Clients that send the bodies of tasks themselves.
extension SimulatedWorld {
  /// One of them. For one thread.
  final class Sender: @unchecked Sendable {
    let task: TaskID
    let upload: BodyUpload
    unowned let node: ServiceNode
    /// It has said that this was all.
    var hasFinished = false

    init(_ task: TaskID, _ upload: BodyUpload, _ node: ServiceNode) {
      (self.task, self.upload, self.node) = (task, upload, node)
    }
  }

  func sendBody(_ luck: inout RandomSource) {
    guard let sender = luck.pick(senders), luck.chance(700) else {
      let wanted = chronicle.taskOrder.filter { id in
        chronicle.tasks[id].map { !$0.isOver && $0.row.originalRequest.body?.isStream == true } ?? false
      }
      if let id = luck.pick(wanted) { openBody(of: id) }
      return
    }
    switch luck.below(4) {
    case 0:
      // It leaves early, and comes again as another.
      sender.upload.fail()
      if !sender.hasFinished { senders.removeAll { $0 === sender } }
      sender.upload.stream.detach()
      executor.run()
    default: finish(sender)
    }
  }

  func openBody(of id: TaskID) {
    guard let session = chronicle.tasks[id]?.session else { return }
    call(
      tenant(of: session), about: .task(id),
      { view, node in (try await view.openUpload(of: id, length: nil), node) }
    ) { [self] result in
      guard case .success(let (upload, node)) = result, !node.process.isDead else { return }
      senders.append(Sender(id, upload, node))
    }
  }

  /// It has sent all, and waits to hear that it was taken, or that nobody wants it.
  func finish(_ sender: Sender) {
    guard !sender.hasFinished else { return }
    sender.hasFinished = true
    let node = sender.node
    executor.spawn { [self] in
      let isSent = await sender.upload.finish()
      guard !node.process.isDead else { return }
      senders.removeAll { $0 === sender }
      guard isSent, let story = chronicle.tasks[sender.task], !isGone(story.session) else { return }
      // Of one that ended with its process, the row says nothing; nor does anything, where that could write nothing before it was taken over
      // from.
      let hasBegun = story.row.startedAt != nil || story.words.contains(.state(.running, .transferring))
      if !hasBegun, story.isOver, chronicle.isMember(node.number) {
        chronicle.break_(
          .acceptedIsKept, "a body was sent for \(chronicle.name(sender.task)), which never began")
      }
    }
    executor.run()
  }

  /// What a task has come to is there, and what one has left to go on from.
  func checkBytes(of task: TransferTask) {
    if let body = task.body, body.sha256 != Attempt.smallDigest {
      let bytes = read(task.bodyKey, Int(body.size))
      if bytes != AttemptFile.bytes(0..<Int(body.size)) {
        chronicle.break_(
          .bytesStay, "the body of \(chronicle.name(task.id)) has \(bytes?.count ?? -1) bytes, or others")
      }
    }
    guard let key = task.partialKey, let offset = task.partial?.download?.partial.offset,
      !hasGoneOn(task.id)
    else { return }
    let bytes = read(key, Int(offset))
    if bytes != AttemptFile.bytes(0..<Int(offset)) {
      chronicle.break_(
        .bytesStay,
        "\(chronicle.name(task.id)) has left \(offset) bytes, and \(bytes?.count ?? -1) are there, or others"
      )
    }
  }

  private func read(_ key: BlobKey, _ count: Int) -> [UInt8]? {
    do throws(BlobError) {
      return try (surroundings.blobs as any BlobStore).open(key).wait(at: 0, maximum: count)
    } catch {
      return nil
    }
  }

  /// Another download was to begin where that one had ended: what was left is that one's.
  private func hasGoneOn(_ source: TaskID) -> Bool {
    chronicle.tasks.values.contains { $0.id != source && $0.row.resumePoint?.download?.source == source }
  }

  /// Their connections went with the process.
  func loseSenders(to node: ServiceNode) {
    let lost = senders.filter { $0.node === node }
    senders.removeAll { $0.node === node }
    for sender in lost { sender.upload.stream.detach() }
  }
}
