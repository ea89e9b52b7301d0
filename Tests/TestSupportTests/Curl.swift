import Foundation
import TestSupport

/// One run of the curl command line.
struct Curl {
  /// The status of the last response, or 0 if there was none.
  let status: Int
  /// The status of the last response to CONNECT.
  let connect: Int
  /// The HTTP version, such as "1.1" or "2".
  let version: String
  let body: [UInt8]
  var text: String { String(decoding: body, as: UTF8.self) }

  init(_ arguments: String..., environment: [String: String] = [:]) throws {
    let format = "%{stderr}%{http_code} %{http_connect} %{http_version}"
    let (output, figures) = (Pipe(), Pipe())
    let process = try ChildProcess(
      "/usr/bin/curl", ["-q", "-s", "-m", "20", "-w", format] + arguments,
      environment: ChildProcess.environment(with: environment), output: .pipe(output), error: .pipe(figures))
    body = Array(output.fileHandleForReading.readDataToEndOfFile())
    let words = String(decoding: figures.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      .split(separator: " ").map(String.init)
    process.waitUntilExit()
    status = Int(words.first ?? "") ?? 0
    connect = Int(words.dropFirst().first ?? "") ?? 0
    version = words.dropFirst(2).first ?? ""
  }
}

/// A file for uploads.
final class UploadFile {
  let bytes = NginxServer.contents(300_000)
  private let directory = TemporaryDirectory.make("upload")
  var path: String { directory + "/bytes" }

  init() throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
  deinit { try? FileManager.default.removeItem(atPath: directory) }
}
