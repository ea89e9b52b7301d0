import HTTPServer
import Processes
import Records
import SQLiteLedger
import TransferEngine

/// The output of `ferry --version`.
enum VersionText {
  /// The versions, one line each. Library versions are those of the loaded libraries.
  static var text: String {
    [
      "ferry \(Ferry.version)", "commit \(Build.commit)", "Swift \(Build.swift)",
      "libcurl \(TransferEngine.libcurlVersion)", "OpenSSL \(SecretBox.openSSLVersion)",
      "SQLite \(SQLiteLibrary.version)", "libmicrohttpd \(MicroHTTPDVersion.loaded)",
    ].joined(separator: "\n")
  }
}
