internal import CCurl

extension EasyHandle {
  /// Returns the owner of a `CURL *` on which `setTLS` was called.
  static func owner(of raw: UnsafeMutableRawPointer) -> EasyHandle? {
    var owner: UnsafePointer<CChar>?
    guard ccurl_easy_getinfo_string(raw, CURLINFO_PRIVATE, &owner) == CURLE_OK, let owner else { return nil }
    return Unmanaged<EasyHandle>.fromOpaque(owner).takeUnretainedValue()
  }
}
