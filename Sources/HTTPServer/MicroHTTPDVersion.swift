internal import CMicroHTTPD

/// The version of libmicrohttpd.
package enum MicroHTTPDVersion {
  /// The version of the loaded library, which may differ from the version at build time.
  package static var loaded: String { String(cString: MHD_get_version()) }
}
