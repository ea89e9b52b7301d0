internal import CCurl

extension EasyHandle {
  /// Starts to pass the bytes of bodies to the delegate as they are on the wire (CURLOPT_DEBUGFUNCTION).
  package func traceBody() throws(CurlError) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    _ = ccurl_easy_setopt_debug(raw, onTrace)
    _ = ccurl_easy_setopt_pointer(raw, CURLOPT_DEBUGDATA, context)
    try set(.verbose, to: 1)
  }
}

@c private func onTrace(
  _ easy: UnsafeMutableRawPointer?, _ type: curl_infotype, _ bytes: UnsafeMutablePointer<CChar>?,
  _ count: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard type == CURLINFO_DATA_IN, let context else { return 0 }
  let easy = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
  easy.delegate?.didTraceBody(UnsafeRawBufferPointer(start: bytes, count: count))
  return 0
}
