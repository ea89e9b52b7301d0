import Processes
import Crypto
import TransferModel

/// The identity of a worker's program and options. It shows whether a running worker predates an upgrade or a change of options.
enum WorkerGeneration {
  /// Returns the version, with a digest of the program's file and of the options.
  static func of(arguments: [String]) -> String {
    var digest = SHA256()
    for text in [DetachedProcess.executableStamp()] + arguments {
      digest.update(data: Array(text.utf8) + [0])
    }
    return "\(Ferry.version)+\(Hexadecimal.text(Array(digest.finalize().prefix(4))))"
  }
}
