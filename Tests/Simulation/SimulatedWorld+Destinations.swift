internal import SimulatedStores
internal import TransferCore
internal import TransferModel

/// Downloads that become files.
extension SimulatedWorld {
  /// Returns a destination. Tasks of one rule share few names, so that they meet.
  func destination(_ luck: inout RandomSource) -> Destination {
    let rule = Destination.ExistingFile.allCases[luck.below(3)]
    let path = "/d/\(rule.rawValue) \(luck.below(4))"
    // Someone else's file is in the way.
    if luck.chance(50) { surroundings.destinations.add(path) }
    surroundings.destinations.set(failures: luck.chance(200) ? 300 : 0)
    return Destination(file: path, ifExists: rule)
  }

  /// Kills a service at its worst moment: a file has just got its name, and no row says so.
  func crashAfterRename(_ luck: inout RandomSource) {
    createTasks(2 + luck.below(4), &luck)
    let before = surroundings.destinations.renames
    for _ in 0..<300 where surroundings.destinations.renames == before { goOn([0, 0, 2, 4, 6], 2, &luck) }
    guard let node = pickService(&luck, where: { _ in true }) else { return }
    endService(node, keeping: 0)
    startService()
  }

  /// Checks that a successful task has its file whole, and that another has none.
  func checkFile(of task: TransferTask) {
    guard let destination = task.destination else { return }
    let files = surroundings.destinations.files
    let own = files.filter { $0.value.task == task.id }
    let name = chronicle.name(task.id)
    guard task.outcome == .succeeded else {
      if !own.isEmpty { chronicle.violate(.filesAreWhole, "\(name) failed, but has the file \(own.keys)") }
      return
    }
    guard let placed = task.body?.placed, let body = task.body else {
      return chronicle.violate(.filesAreWhole, "\(name) has succeeded without a file")
    }
    // Another task may have replaced the file since.
    guard destination.ifExists != .replace || files[placed.file]?.task == task.id else {
      if files[placed.file] == nil { chronicle.violate(.filesAreWhole, "\(name) has lost its file") }
      return
    }
    let isWhole =
      body.sha256 == Attempt.smallDigest || own.values.first?.bytes == AttemptFile.bytes(0..<Int(body.size))
    if own.count != 1 || own[placed.file]?.mark != placed.mark || !isWhole {
      chronicle.violate(
        .filesAreWhole, "\(name) has the files \(own.keys.sorted()) instead of \(placed.file)")
    }
  }
}
