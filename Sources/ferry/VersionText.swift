import HTTPServer
import Processes
import Records
import SQLiteLedger
import TransferEngine

/// What `ferry --version` prints.
enum VersionText {
  /// One line each. The libraries are those that are loaded now.
  static var text: String {
    [
      "ferry \(Ferry.version)", "commit \(Build.commit)", "Swift \(Build.swift)",
      "libcurl \(TransferEngine.libcurlVersion)", "OpenSSL \(SecretBox.openSSLVersion)",
      "SQLite \(SQLiteLibrary.version)", "libmicrohttpd \(MicroHTTPDVersion.loaded)",
    ].joined(separator: "\n")
  }
}
