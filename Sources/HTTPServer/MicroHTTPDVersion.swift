internal import CMicroHTTPD

/// The version of libmicrohttpd.
package enum MicroHTTPDVersion {
  /// The one that is loaded, which need not be the one that this was built with.
  package static var loaded: String { String(cString: MHD_get_version()) }
}
