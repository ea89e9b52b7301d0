internal import Synchronization
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// Discretionary tasks yield to the others of background sessions, and run when the operator lets them.
extension BackgroundWorker {
  func mayRunDiscretionary(_ state: inout State) -> Bool {
    discretion.mayRun(
      at: now(), load: state.load.value(at: alarms.now()), othersAreActive: !state.busy.isEmpty)
  }

  /// Others have come: those that run are held.
  func holdDiscretionary(_ state: inout State) {
    for id in state.discretionary {
      guard let session = state.work[id]?.session.id else { continue }
      state.yielding.insert(id)
      engine.suspend(id, in: session)
    }
    state.discretionary = []
  }

  /// Looks again whether discretionary tasks may run: others have ended, or it is time.
  package func reviewDiscretionary() {
    state.withLock { state in
      var change = StoreChange()
      reviewDiscretionary(&state, &change)
      record(change, &state)
    }
  }

  func reviewDiscretionary(_ state: inout State, _ change: inout StoreChange) {
    guard !state.discretionary.isEmpty || !state.yielding.isEmpty else { return }
    guard mayRunDiscretionary(&state) else { return holdDiscretionary(&state) }
    for id in state.yielding {
      state.yielding.remove(id)
      guard let work = state.work[id] else { continue }
      guard work.isActive else {
        admit(id, &state, &change)
        continue
      }
      state.discretionary.insert(id)
      if !work.state.isSuspended { engine.resume(id, in: work.session.id) }
    }
  }
}
