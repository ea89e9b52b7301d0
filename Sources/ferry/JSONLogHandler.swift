import EventLoop
import JSON
import Logging
import TransferModel

/// A log handler that writes one JSON object per line to standard output. Messages are fixed texts; values are metadata.
struct JSONLogHandler: LogHandler {
  let label: String
  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("time", Timestamp(microseconds: WallClock.microseconds()).description)
      writer.field("level", event.level.rawValue)
      writer.field("message", event.message.description)
      let values = metadata.merging(event.metadata ?? [:]) { $1 }
      for (name, value) in values.sorted(by: { $0.key < $1.key }) {
        writer.key(name)
        writer.value(value.description)
      }
    }
    StandardOutput.write(writer.bytes + [0x0A])
  }
}
