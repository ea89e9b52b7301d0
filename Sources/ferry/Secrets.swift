import Crypto
import FerrySettings
import FoundationEssentials
internal import HTTPFields
import Logging
import BlobStore
import TransferModel

/// The key that signs messages of webhooks without a secret of their own.
enum WebhookSecret {
  /// Reads `whsec_…` from `path`; where there is no such file and it is the default one, makes it.
  static func load(path: String, mayCreate: Bool) throws -> [UInt8] {
    try NamedFile.refuseWritable(path, of: \.webhookSecretFile)
    if let text = SecretFile.read(path) {
      guard let key = Webhook.key(of: text) else {
        throw SettingsError(
          \.webhookSecretFile, "\(path) does not hold whsec_ and the base64 of 24 to 64 bytes")
      }
      return key
    }
    guard mayCreate else {
      throw SettingsError(\.webhookSecretFile, "\(path) \(NamedFile.fault(path) ?? "cannot be read")")
    }
    let key = SecretFile.random(32)
    try SecretFile.write("whsec_\(Base64.encode(key))\n", to: path)
    return key
  }
}

/// The keys from which the service derives those that protect what it stores and hands out: the first protects, all of
/// them open. One a line in a file.
struct SecretKeys {
  private static let size = 32
  let path: String
  private var keys: [[UInt8]]
  /// They are in no file yet.
  private let isNew: Bool

  /// Reads the setting's file, or the data directory's own.
  /// - Parameter mayCreate: whether a new key is made where there is no such file; `saveNew` writes it.
  init(_ settings: Settings, mayCreate: Bool) throws {
    path = settings.secretKeyFile ?? settings.path(of: .secretKey)
    try NamedFile.refuseWritable(path, of: \.secretKeyFile)
    guard let text = SecretFile.read(path) else {
      guard settings.secretKeyFile == nil, mayCreate, !SecretFile.isThere(path) else {
        throw SettingsError(\.secretKeyFile, "\(path) \(NamedFile.fault(path) ?? "cannot be read")")
      }
      keys = [SecretFile.random(Self.size)]
      isNew = true
      return
    }
    isNew = false
    let lines = text.split(whereSeparator: \.isNewline)
    keys = lines.compactMap { Base64.decode($0.trimmingBlanks) }.filter { $0.count == Self.size }
    guard !keys.isEmpty, keys.count == lines.count else {
      throw SettingsError(
        \.secretKeyFile, "\(path) does not hold the base64 of \(Self.size) bytes on each line")
    }
  }

  var all: [SymmetricKey] { keys.map { SymmetricKey(data: $0) } }

  /// Puts a new key before the others; not in the file yet.
  mutating func addNew() { keys.insert(SecretFile.random(Self.size), at: 0) }

  mutating func dropOld() throws {
    keys = [keys[0]]
    try save()
  }

  /// Before anything depends on them.
  func saveNew() throws {
    if isNew { try save() }
  }

  func save() throws {
    try SecretFile.write(keys.map { Base64.encode($0) + "\n" }.joined(), to: path)
  }
}

/// Files that only the service's own user may read.
private enum SecretFile {
  /// The text without the blanks around it; nil where there is no such file.
  static func read(_ path: String) -> String? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    return String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }

  static func isThere(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  /// All of it or nothing: a key that is lost takes with it what it protects. A file that is replaced keeps its owner, as root may rotate
  /// the keys of a service that another user runs.
  static func write(_ text: String, to path: String) throws {
    let old = try? FileManager.default.attributesOfItem(atPath: path)
    guard DurableFile.write(Array(text.utf8), to: path) else {
      throw StartError(
        \.dataDirectory, "\(path) cannot be written; see its owner, its mode, and whether the disk is full")
    }
    let owner = old?.filter { [.ownerAccountID, .groupOwnerAccountID].contains($0.key) } ?? [:]
    if !owner.isEmpty { try FileManager.default.setAttributes(owner, ofItemAtPath: path) }
  }

  static func random(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }
}

extension Settings {
  /// Logs a warning for each secret file that all users of the machine can read.
  func warnOfReadableSecrets(_ logger: Logger) {
    for warning in secretFiles.compactMap(NamedFile.warning) { logger.warning("\(warning)") }
  }
}
