internal import CCurl

/// A version of libcurl, and its capabilities.
package struct CurlVersion: Sendable, Comparable, CustomStringConvertible {
  package let major: Int
  package let minor: Int
  package let patch: Int

  package init(_ major: Int, _ minor: Int, _ patch: Int) {
    (self.major, self.minor, self.patch) = (major, minor, patch)
  }

  /// - Parameter number: The number that `curl_version_info` returns: 0xMMmmpp.
  package init(number: UInt32) {
    self.init(Int(number >> 16 & 0xFF), Int(number >> 8 & 0xFF), Int(number & 0xFF))
  }

  /// The loaded version, which may differ from the version at build time.
  package static let loaded = CurlVersion(number: ccurl_version_number())

  package var description: String { "\(major).\(minor).\(patch)" }

  package static func < (left: Self, right: Self) -> Bool {
    (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
  }

  /// Whether an easy handle can be reused. Before 8.1.0 it keeps a pointer to the last field of the previous response, which is freed. A
  /// response that begins with a folded field then frees the field twice (curl #11103).
  package var cleansHandles: Bool { self >= CurlVersion(8, 1, 0) }

  /// The default file of certificate authorities of the loaded libcurl; `nil` if it has none.
  package static var certificateAuthorityFile: String? { ccurl_ca_file().map { String(cString: $0) } }
}
