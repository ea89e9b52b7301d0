internal import CCurl

/// An option of an easy handle, with the type of its value.
package struct EasyOption<Value>: Sendable {
  let raw: CURLoption
}

extension EasyOption<String> {
  package static var sslCipherList: Self { Self(raw: CURLOPT_SSL_CIPHER_LIST) }
  package static var url: Self { Self(raw: CURLOPT_URL) }
  package static var requestTarget: Self { Self(raw: CURLOPT_REQUEST_TARGET) }
  package static var customRequest: Self { Self(raw: CURLOPT_CUSTOMREQUEST) }
  package static var userAgent: Self { Self(raw: CURLOPT_USERAGENT) }
  package static var proxy: Self { Self(raw: CURLOPT_PROXY) }
  /// The UNIX socket to connect to in place of the URL's host.
  package static var unixSocketPath: Self { Self(raw: CURLOPT_UNIX_SOCKET_PATH) }
  package static var noProxy: Self { Self(raw: CURLOPT_NOPROXY) }
  package static var protocols: Self { Self(raw: CURLOPT_PROTOCOLS_STR) }
}

extension EasyOption<String> {
  static var userName: Self { Self(raw: CURLOPT_USERNAME) }
  static var password: Self { Self(raw: CURLOPT_PASSWORD) }
  package static var proxyUserName: Self { Self(raw: CURLOPT_PROXYUSERNAME) }
  package static var proxyPassword: Self { Self(raw: CURLOPT_PROXYPASSWORD) }
}

extension EasyOption<Int> {
  static var httpAuth: Self { Self(raw: CURLOPT_HTTPAUTH) }
  static var proxyAuth: Self { Self(raw: CURLOPT_PROXYAUTH) }
  static var sslVerifyHost: Self { Self(raw: CURLOPT_SSL_VERIFYHOST) }
  static var verbose: Self { Self(raw: CURLOPT_VERBOSE) }
  static var sslSessionCache: Self { Self(raw: CURLOPT_SSL_SESSIONID_CACHE) }
  package static var freshConnect: Self { Self(raw: CURLOPT_FRESH_CONNECT) }
  package static var forbidReuse: Self { Self(raw: CURLOPT_FORBID_REUSE) }
  package static var socks5Auth: Self { Self(raw: CURLOPT_SOCKS5_AUTH) }
  package static var noSignal: Self { Self(raw: CURLOPT_NOSIGNAL) }
  package static var pathAsIs: Self { Self(raw: CURLOPT_PATH_AS_IS) }
  package static var quickExit: Self { Self(raw: CURLOPT_QUICK_EXIT) }
  package static var followLocation: Self { Self(raw: CURLOPT_FOLLOWLOCATION) }
  package static var ignoreContentLength: Self { Self(raw: CURLOPT_IGNORE_CONTENT_LENGTH) }
  package static var noBody: Self { Self(raw: CURLOPT_NOBODY) }
  package static var httpGet: Self { Self(raw: CURLOPT_HTTPGET) }
  package static var post: Self { Self(raw: CURLOPT_POST) }
  package static var httpVersion: Self { Self(raw: CURLOPT_HTTP_VERSION) }
  package static var http09Allowed: Self { Self(raw: CURLOPT_HTTP09_ALLOWED) }
  package static var pipeWait: Self { Self(raw: CURLOPT_PIPEWAIT) }
  package static var bufferSize: Self { Self(raw: CURLOPT_BUFFERSIZE) }
  package static var uploadBufferSize: Self { Self(raw: CURLOPT_UPLOAD_BUFFERSIZE) }
  package static var connectTimeoutMilliseconds: Self { Self(raw: CURLOPT_CONNECTTIMEOUT_MS) }
  package static var sslVersion: Self { Self(raw: CURLOPT_SSLVERSION) }
  /// Ends the transfer when it could send its request.
  package static var connectOnly: Self { Self(raw: CURLOPT_CONNECT_ONLY) }
  package static var tcpKeepAlive: Self { Self(raw: CURLOPT_TCP_KEEPALIVE) }
}

extension EasyOption<Int64> {
  package static var postFieldSize: Self { Self(raw: CURLOPT_POSTFIELDSIZE_LARGE) }
}

/// Information of a transfer, with the type of its value.
package struct EasyInfo<Value>: Sendable {
  let raw: CURLINFO
}

extension EasyInfo<Int> {
  package static var responseCode: Self { Self(raw: CURLINFO_RESPONSE_CODE) }
  package static var httpVersion: Self { Self(raw: CURLINFO_HTTP_VERSION) }
  package static var connectionsMade: Self { Self(raw: CURLINFO_NUM_CONNECTS) }
  package static var requestSize: Self { Self(raw: CURLINFO_REQUEST_SIZE) }
  package static var headerSize: Self { Self(raw: CURLINFO_HEADER_SIZE) }
  package static var remotePort: Self { Self(raw: CURLINFO_PRIMARY_PORT) }
  package static var localPort: Self { Self(raw: CURLINFO_LOCAL_PORT) }
  /// The errno of the connection that failed.
  package static var osErrno: Self { Self(raw: CURLINFO_OS_ERRNO) }
  package static var sslVerifyResult: Self { Self(raw: CURLINFO_SSL_VERIFYRESULT) }
}

extension EasyInfo<Int64> {
  // Microseconds since the transfer began.
  package static var nameLookupTime: Self { Self(raw: CURLINFO_NAMELOOKUP_TIME_T) }
  package static var connectTime: Self { Self(raw: CURLINFO_CONNECT_TIME_T) }
  package static var appConnectTime: Self { Self(raw: CURLINFO_APPCONNECT_TIME_T) }
  package static var preTransferTime: Self { Self(raw: CURLINFO_PRETRANSFER_TIME_T) }
  package static var startTransferTime: Self { Self(raw: CURLINFO_STARTTRANSFER_TIME_T) }
  package static var totalTime: Self { Self(raw: CURLINFO_TOTAL_TIME_T) }
  // Bytes.
  package static var uploaded: Self { Self(raw: CURLINFO_SIZE_UPLOAD_T) }
  package static var downloaded: Self { Self(raw: CURLINFO_SIZE_DOWNLOAD_T) }
}

extension EasyInfo<String> {
  package static var remoteAddress: Self { Self(raw: CURLINFO_PRIMARY_IP) }
  package static var localAddress: Self { Self(raw: CURLINFO_LOCAL_IP) }
}
