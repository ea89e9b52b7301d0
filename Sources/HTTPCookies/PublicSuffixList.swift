internal import CPSL

/// The names under which registries register domains (publicsuffix.org): the list built into libpsl. It never changes while the process
/// runs, so any thread may use it.
package enum PublicSuffixList {
  /// Whether a name is a public suffix: `com`, `co.uk`, `github.io`, and every single label without a rule.
  /// - Parameter name: a canonical host name, not an address.
  package static func contains(_ name: String) -> Bool { unsafe cpsl_is_public_suffix(name) != 0 }

  /// Returns the public suffix and the label before it; `nil` if the name itself is a public suffix.
  /// - Parameter name: a canonical host name, not an address.
  package static func registrableDomain(of name: String) -> String? {
    let offset = unsafe cpsl_registrable_offset(name)
    return offset < 0 ? nil : String(decoding: name.utf8.dropFirst(offset), as: UTF8.self)
  }
}
