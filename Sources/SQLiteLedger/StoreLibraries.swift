internal import COpenSSL
internal import GRDBSQLite

/// The libraries that the store has loaded, which need not be those that it was built with.
package enum StoreLibraries {
  package static var sqlite: String { String(cString: sqlite3_libversion()) }
  package static var openSSL: String { String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
