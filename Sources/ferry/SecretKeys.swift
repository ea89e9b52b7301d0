import Crypto
import FerrySettings
import FoundationEssentials
internal import HTTPFields
import Logging
import BlobStore
import TransferModel

/// The key that signs messages of webhooks without a secret of their own.
enum WebhookSecret {
  /// Reads `whsec_…` from `path`. If the file does not exist and `mayCreate` is true, a new key is written to it.
  static func load(path: String, mayCreate: Bool) throws -> [UInt8] {
    try NamedFile.rejectWritable(path, of: \.webhookSecretFile)
    if let text = SecretFile.read(path) {
      guard let key = Webhook.key(of: text) else {
        throw SettingsError(
          \.webhookSecretFile,
          "\(path) must contain whsec_ and the base64 of 24 to 64 bytes; restore the file, or create it anew")
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

/// The secret keys, from which the service derives the keys for stored and issued data. The first key protects new data; all keys open
/// existing data. The file has one key per line.
struct SecretKeys {
  private static let size = 32
  let path: String
  private var keys: [[UInt8]]
  /// Whether the key is new and not saved yet.
  private let isNew: Bool

  /// Reads the file of the setting, or the file in the data directory.
  /// - Parameter mayCreate: whether a new key is made if the file does not exist. `saveNew` writes it.
  init(_ settings: Settings, mayCreate: Bool) throws {
    path = settings.secretKeyFile ?? settings.path(of: .secretKey)
    try NamedFile.rejectWritable(path, of: \.secretKeyFile)
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
        \.secretKeyFile,
        "each line of \(path) must be the base64 of \(Self.size) bytes; restore the file from a backup")
    }
  }

  var all: [SymmetricKey] { keys.map { SymmetricKey(data: $0) } }

  /// Adds a new key before the others, without saving it.
  mutating func addNew() { keys.insert(SecretFile.random(Self.size), at: 0) }

  mutating func dropOld() throws {
    keys = [keys[0]]
    try save()
  }

  /// Saves a new key. Call this function before any data depends on the key.
  func saveNew() throws {
    if isNew { try save() }
  }

  func save() throws {
    try SecretFile.write(keys.map { Base64.encode($0) + "\n" }.joined(), to: path)
  }
}

/// Files that only the service's own user may read.
private enum SecretFile {
  /// Reads the text without surrounding blanks; `nil` if the file cannot be read.
  static func read(_ path: String) -> String? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    return String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }

  static func isThere(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  /// Replaces the file atomically, because a lost key makes its data unreadable. The file keeps its owner, as root may rotate the keys of
  /// another user's service.
  static func write(_ text: String, to path: String) throws {
    let old = try? FileManager.default.attributesOfItem(atPath: path)
    guard DurableFile.write(Array(text.utf8), to: path) else {
      throw StartError(
        \.dataDirectory, "\(path) cannot be written; check its owner, its mode, and whether the disk is full")
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
