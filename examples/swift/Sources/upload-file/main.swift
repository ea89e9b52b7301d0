// Uploads a file with PUT and prints the response.
// Usage: upload-file FILE URL
import FerryClient
import Foundation

func exitWithUsage() -> Never {
  FileHandle.standardError.write(Data("usage: upload-file FILE URL\n".utf8))
  exit(2)
}

guard CommandLine.arguments.count == 3, let url = URL(string: CommandLine.arguments[2]) else {
  exitWithUsage()
}
var request = FerryRequest(url: url)
request.httpMethod = "PUT"
request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
let file = URL(fileURLWithPath: CommandLine.arguments[1])
do {
  let (data, response) = try await FerrySession.shared.upload(for: request, fromFile: file)
  print((response as? HTTPFerryResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
} catch {
  print("failed: \(error)")
  exit(1)
}
