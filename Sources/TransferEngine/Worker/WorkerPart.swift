/// A part of a worker: does its own work, and asks the other parts through the worker. On the worker's loop only.
class WorkerPart {
  // The worker owns its parts.
  unowned let worker: TransferWorker

  init(_ worker: TransferWorker) { self.worker = worker }
}
