import Processes
import Crypto
import TransferModel

/// Tells a worker that goes on from before an upgrade, or from before other options, from one as it should be now.
enum Generation {
  /// The version, and a digest of the program's file and of the options.
  static func of(arguments: [String]) -> String {
    var digest = SHA256()
    for text in [DetachedProcess.executableStamp()] + arguments {
      digest.update(data: Array(text.utf8) + [0])
    }
    return "\(Ferry.version)+\(Hexadecimal.text(Array(digest.finalize().prefix(4))))"
  }
}
