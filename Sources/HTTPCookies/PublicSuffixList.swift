internal import CPSL

/// Which names belong to a registry, under which others register theirs (publicsuffix.org): the list that libpsl has
/// built in. It never changes while the process runs, so every thread may ask.
package enum PublicSuffixList {
  /// `com`, `co.uk`, `github.io`, and every single label that no rule names.
  /// - Parameter name: a canonical name of a host, no address.
  package static func contains(_ name: String) -> Bool { unsafe cpsl_is_public_suffix(name) != 0 }

  /// The public suffix and the label before it; nil where the name is a public suffix itself.
  /// - Parameter name: a canonical name of a host, no address.
  package static func registrableDomain(of name: String) -> String? {
    let offset = unsafe cpsl_registrable_offset(name)
    return offset < 0 ? nil : String(decoding: name.utf8.dropFirst(offset), as: UTF8.self)
  }
}
