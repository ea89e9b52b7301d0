internal import HTTPFields
internal import JSON

/// The files that a command line asks for, and the form of their tasks.
struct GetPlan: Sendable {
  struct Source: Sendable, Equatable {
    /// The URL for the service, which may have a user and password.
    let url: String
    var item: TransferItem
  }

  var sources: [Source] = []
  var headers: [OptionText.Pair] = []
  var labels: [OptionText.Pair] = []
  var sha256: String?
  var tries: Int?
  var statuses: [Int]?
  var bytesPerSecond: Int64?
  var webhook: String?
  /// The longest pause between bytes, in seconds.
  var timeout: Double?
  /// The label of the target directory.
  var directoryLabel: String?

  /// Returns the creation of a task as one line of JSON.
  func line(_ index: Int) -> [UInt8] {
    let source = sources[index]
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("kind", "download")
      writer.key("request")
      writer.object { writer in
        writer.field("url", source.url)
        if let timeout { writer.field("timeoutInterval", timeout) }
        if !headers.isEmpty { writer.field("headers", headers) }
      }
      writer.field("resume", true)
      writer.field("failOnStatus", true)
      writer.key("retry")
      writer.object { writer in
        if let tries { writer.field("maximumAttempts", Int64(tries)) }
        if let statuses {
          writer.key("statuses")
          writer.array { writer in
            for status in statuses {
              writer.element()
              writer.value(Int64(status))
            }
          }
        }
      }
      writer.key("labels")
      writer.object { writer in
        writer.members(labels)
        if let directoryLabel {
          writer.members([(GetLabels.directory, directoryLabel), (GetLabels.file, source.item.key)])
        }
      }
      if let sha256 {
        writer.key("expected")
        writer.object { $0.field("sha256", sha256) }
      }
      if let bytesPerSecond { writer.field("maximumBytesPerSecond", bytesPerSecond) }
      if let webhook {
        writer.key("completion")
        writer.object { writer in
          writer.key("webhook")
          writer.object { $0.field("url", webhook) }
        }
      }
    }
    return writer.bytes + [0x0A]
  }

  /// Returns the URLs of a list: one a line, without blank lines and comments.
  static func urls(ofList text: String) -> [String] {
    text.split(whereSeparator: \.isNewline).compactMap { line in
      let text = line.drop { $0 == " " || $0 == "\t" }
      guard !text.isEmpty, text.first != "#" else { return nil }
      return String(text.prefix { $0 != " " && $0 != "\t" })
    }
  }

  /// Adds the scheme that a URL lacks, as curl does.
  static func withScheme(_ url: String) -> String { url.contains("://") ? url : "http://" + url }

  /// Returns a URL without its user and password, and these.
  static func parts(_ url: String) -> (bare: String, userInfo: String?) {
    guard let scheme = url.firstRange(of: "://") else { return (url, nil) }
    let rest = url[scheme.upperBound...]
    let authority = rest.prefix { !"/?#".contains($0) }
    guard let at = authority.lastIndex(of: "@") else { return (url, nil) }
    return (
      url[..<scheme.upperBound] + String(rest[rest.index(after: at)...]), String(authority[..<at])
    )
  }

  /// Returns a URL with a user and, after a colon, a password.
  static func url(_ url: String, withUser user: String) -> String {
    let bare = parts(url).bare
    guard let scheme = bare.firstRange(of: "://") else { return url }
    let words = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let info = words.map { PercentEncoding.encode(String($0)) }.joined(separator: ":")
    return bare[..<scheme.upperBound] + info + "@" + bare[scheme.upperBound...]
  }
}
