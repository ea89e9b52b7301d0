import Processes
import Crypto

/// Tells a worker that goes on from before an upgrade, or from before other options, from one as it should be now.
enum Generation {
  /// The version, and a digest of the program's file and of the options.
  static func of(arguments: [String]) -> String {
    var digest = SHA256()
    for text in [DetachedProcess.executableStamp()] + arguments {
      digest.update(data: Array(text.utf8) + [0])
    }
    let bytes = digest.finalize().prefix(4)
    let hexadecimal = bytes.map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()
    return "\(Ferry.version)+\(hexadecimal)"
  }
}
