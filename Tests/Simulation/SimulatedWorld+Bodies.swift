internal import BlobStore
internal import Cluster
internal import EngineAPI
internal import LifeCycle
internal import SimulatedStores
internal import TransferCore
internal import TransferModel
internal import TransferService

/// Clients that send the bodies of tasks.
extension SimulatedWorld {
  /// A client that sends one body. For one thread.
  final class BodySender: @unchecked Sendable {
    let task: TaskID
    let upload: BodyUpload
    unowned let node: ServiceNode
    /// Whether the client has sent the whole body.
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
      // The client leaves early. Another one may send the body later.
      sender.upload.fail()
      if !sender.hasFinished { senders.removeAll { $0 === sender } }
      sender.upload.stream.cancel()
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
      senders.append(BodySender(id, upload, node))
    }
  }

  /// Sends the whole body, and waits until it was used or is no longer needed.
  func finish(_ sender: BodySender) {
    guard !sender.hasFinished else { return }
    sender.hasFinished = true
    let node = sender.node
    executor.spawn { [self] in
      let isSent = await sender.upload.finish()
      guard !node.process.isDead else { return }
      senders.removeAll { $0 === sender }
      guard isSent, let story = chronicle.tasks[sender.task], !isGone(story.session) else { return }
      // Two kinds of tasks are exempt. The row of a task that ended with its service may show no start. A service that was taken over could
      // not write the start.
      let hasBegun = story.row.startedAt != nil || story.words.contains(.state(.running, .transferring))
      if !hasBegun, story.isOver, chronicle.isMember(node.number) {
        chronicle.violate(
          .acceptedIsKept, "a body was sent for \(chronicle.name(sender.task)), which never started")
      }
    }
    executor.run()
  }

  /// Checks the bytes of a task's body and of its partial body.
  func checkBytes(of task: TransferTask) {
    if let body = task.body, body.placed == nil, body.sha256 != Attempt.smallDigest {
      let bytes = read(task.bodyKey, Int(body.size))
      if bytes != AttemptFile.bytes(0..<Int(body.size)) {
        chronicle.violate(
          .bytesStay,
          "the body of \(chronicle.name(task.id)) has \(bytes?.count ?? -1) bytes instead of \(body.size), or different bytes"
        )
      }
    }
    guard let key = task.partialKey, let offset = task.partial?.download?.partial.offset,
      !hasGoneOn(task.id)
    else { return }
    let bytes = read(key, Int(offset))
    if bytes != AttemptFile.bytes(0..<Int(offset)) {
      chronicle.violate(
        .bytesStay,
        "the partial body of \(chronicle.name(task.id)) has \(bytes?.count ?? -1) bytes instead of \(offset), or different bytes"
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

  /// Returns whether another download was to resume from this one. The partial file then belongs to that other download.
  private func hasGoneOn(_ source: TaskID) -> Bool {
    chronicle.tasks.values.contains { $0.id != source && $0.row.resumePoint?.download?.source == source }
  }

  /// Ends the connections of clients to a service that has ended.
  func loseSenders(to node: ServiceNode) {
    let lost = senders.filter { $0.node === node }
    senders.removeAll { $0.node === node }
    for sender in lost { sender.upload.stream.cancel() }
  }
}
