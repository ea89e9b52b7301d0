import Foundation
import JSON
import TestSupport
import Testing

/// The service is killed again and again while downloads become files. Each success has its file whole and once, and each failure has none.
@Suite(.serialized, .blocking, .endsInTime) struct DestinationCrashTests {
  private static let tasks = 200
  private static let rounds = 20
  /// The size of a body names its task.
  private let origin = TestOrigin { request, socket in
    let size = Int(request.path.dropFirst()) ?? 0
    try socket.write(TestOrigin.reply("200 OK", [UInt8](repeating: UInt8(size % 251), count: size)))
    return true
  }
  private static func body(_ size: Int) -> [UInt8] { [UInt8](repeating: UInt8(size % 251), count: size) }

  /// A third of the tasks has no retries, and a third is in a background session. Every second one shares a name with others.
  private func create(_ number: Int, _ media: String, _ background: String, at ferry: FerryProcess) throws {
    // Small bodies are in the database, others in files.
    let size = number.isMultiple(of: 2) ? 1000 + number : 40_000 + number
    let session = number % 3 == 0 ? background : "ses_shared"
    let destination =
      number % 4 < 2
      ? #"{"file":"\#(media)/shared/same.bin","ifExists":"rename"}"# : #"{"file":"\#(media)/own/\#(size)"}"#
    let retry = number % 3 == 1 ? #","retry":{"backoff":0.01}"# : ""
    _ = try ferry.call(
      "POST", "/v1/sessions/\(session)/tasks",
      #"{"kind":"download","resume":true,"request":{"url":"\#(origin.url)/\#(size)"},"destination":\#(destination),"description":"\#(size)"\#(retry)}"#
    )
  }

  @Test(arguments: [false, true]) func `killed service places each file whole and once`(_ isInMemory: Bool)
    throws
  {
    let media = TemporaryDirectory.make("ferry-media", inMemory: isInMemory)
    let place = try BackgroundFixture(options: ["--destination-directory", media])
    let background = try place.session()
    var number = 0
    for _ in 0..<Self.rounds {
      for _ in 0..<Self.tasks / Self.rounds {
        try create(number, media, background, at: place.ferry)
        number += 1
      }
      usleep(.random(in: 0..<120_000))
      place.stop(SIGKILL)
      try place.start()
    }
    let list = try place.ferry.poll("/v1/tasks?limit=500") { page in
      page["items"]?.elements?.allSatisfy { $0["state"]?.string == "completed" } == true
    }
    let tasks = list["items"]?.elements ?? []
    #expect(tasks.count == Self.tasks)
    var files: Set<String> = []
    for task in tasks {
      let size = try #require(task["description"]?.string.flatMap { Int($0) })
      guard task["outcome"]?.string == "succeeded" else {
        #expect(task["error"]?["name"]?.string == "networkConnectionLost", "\(task)")
        #expect(!FileManager.default.fileExists(atPath: "\(media)/own/\(size)"))
        continue
      }
      let file = try #require(task["destination"]?["file"]?.string)
      #expect(files.insert(file).inserted, "two tasks have the file \(file)")
      #expect(FileManager.default.contents(atPath: file).map { Array($0) } == Self.body(size), "\(task)")
      #expect(try place.ferry.body(of: task.id).count == size)
    }
    var found: [String] = []
    for folder in ["shared", "own"] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(media)/\(folder)")) ?? []
      found += names.map { "\(media)/\(folder)/\($0)" }
    }
    #expect(Set(found) == files && !files.isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.directory + "/destinations").isEmpty)
    for task in tasks where task["sessionId"]?.string == background || task["retry"] != nil {
      #expect(task["outcome"]?.string == "succeeded", "\(task)")
    }
  }
}
