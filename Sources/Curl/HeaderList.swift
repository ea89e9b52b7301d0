internal import CCurl

/// A list of header lines, which lives as long as libcurl may read it.
final class HeaderList {
  private(set) var raw: UnsafeMutablePointer<curl_slist>?

  init() {}
  init(_ lines: [String]) throws(CurlError) {
    for line in lines {
      guard let list = curl_slist_append(raw, line) else {
        throw CurlError(result: .outOfMemory, operation: "slist_append")
      }
      raw = list
    }
  }
  deinit { curl_slist_free_all(raw) }
}
