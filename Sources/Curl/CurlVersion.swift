internal import CCurl

/// The libcurl that is loaded.
package enum CurlVersion {
  /// The file of the authorities that it was built to trust; nil where it has none.
  package static var certificateAuthorityFile: String? { ccurl_ca_file().map { String(cString: $0) } }
}
