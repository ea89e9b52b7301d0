import Foundation
import TestSupport

/// One run of the curl command line.
struct Curl {
  /// Of the last response; 0 where there was none.
  let status: Int
  /// Of the last answer to CONNECT.
  let connect: Int
  /// "1.1", "2".
  let version: String
  let body: [UInt8]
  var text: String { String(decoding: body, as: UTF8.self) }

  init(_ arguments: String..., environment: [String: String] = [:]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
    let format = "%{stderr}%{http_code} %{http_connect} %{http_version}"
    process.arguments = ["-q", "-s", "-m", "20", "-w", format] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    let (output, figures) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = figures
    try process.run()
    body = Array(output.fileHandleForReading.readDataToEndOfFile())
    let words = String(decoding: figures.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      .split(separator: " ").map(String.init)
    process.waitUntilExit()
    status = Int(words.first ?? "") ?? 0
    connect = Int(words.dropFirst().first ?? "") ?? 0
    version = words.dropFirst(2).first ?? ""
  }
}

/// Bytes in a file, for uploads.
final class UploadFile {
  let bytes = NginxServer.contents(300_000)
  private let directory = TemporaryDirectory.make("upload")
  var path: String { directory + "/bytes" }

  init() throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
  deinit { try? FileManager.default.removeItem(atPath: directory) }
}
