internal import CCurl

/// A version of libcurl, and what it can do safely.
package struct CurlVersion: Sendable, Comparable, CustomStringConvertible {
  package let major: Int
  package let minor: Int
  package let patch: Int

  package init(_ major: Int, _ minor: Int, _ patch: Int) {
    (self.major, self.minor, self.patch) = (major, minor, patch)
  }

  /// - Parameter number: as `curl_version_info` gives it: 0xMMmmpp.
  package init(number: UInt32) {
    self.init(Int(number >> 16 & 0xFF), Int(number >> 8 & 0xFF), Int(number & 0xFF))
  }

  /// The one that is loaded, which need not be the one that this was built with.
  package static let loaded = CurlVersion(number: ccurl_version_number())

  package var description: String { "\(major).\(minor).\(patch)" }

  package static func < (left: Self, right: Self) -> Bool {
    (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
  }

  /// Whether an easy handle may carry another transfer. Before 8.1.0 it keeps a pointer to the last field of the answer
  /// before, which is freed; an answer that begins with a folded field then frees it twice (curl #11103).
  package var cleansHandles: Bool { self >= CurlVersion(8, 1, 0) }

  /// The file of the authorities that the loaded one was built to trust; nil where it has none.
  package static var certificateAuthorityFile: String? { ccurl_ca_file().map { String(cString: $0) } }
}
