internal import FoundationEssentials
internal import GRDB
internal import JSON
internal import TransferModel

/// Seals the documents that earlier versions stored in clear, each in its place, and seals all of them anew under another key.
struct SealedDocuments {
  let database: Database

  /// What is no document is left as it is, and found when it is read.
  func sealFirst(with box: SecretBox) throws {
    for kind in DocumentKind.first {
      // Rows had no tenant then, and a configuration its name in clear.
      let table = kind.place.table
      try seal(
        kind, by: table == .configuration ? [.name] : table.key.filter { $0 != .tenant }, with: box)
    }
  }

  /// - Parameter key: the columns that name a row; nil: those of today.
  func seal(_ kind: DocumentKind, by key: [StoredColumn]? = nil, with box: SecretBox) throws {
    _ = try SealedColumn(kind.place, in: database).rewrite(by: key) { value in
      switch value.storage {
      case .string(let text):
        let bytes = Array(text.utf8)
        guard !kind.hasVersion || (try? JSONParser.parse(bytes)) != nil else { return nil }
        return Data(box.seal(bytes, as: kind)).databaseValue
      // Some were blobs before.
      case .blob(let data): return Data(box.seal(Array(data), as: kind)).databaseValue
      default: return nil
      }
    }
  }

  /// - Parameter box: seals with its first key, and opens with all.
  /// - Returns: how many there were.
  func resealAll(with box: SecretBox) throws -> Int {
    try DocumentKind.allCases.reduce(0) { count, kind in
      try count
        + SealedColumn(kind.place, in: database).rewrite { value in
          guard case .blob(let data) = value.storage else { return nil }
          do throws(SecretBox.Fault) {
            let document = try box.open(Array(data), as: kind)
            return Data(box.seal(Self.resealed(document, kind, box) ?? document, as: kind)).databaseValue
          } catch .unknownKey {
            throw SecretRotation.UnknownKey(table: kind.place.table)
          } catch {
            // It was damaged, and is no worse under the old key.
            return nil
          }
        }
    }
  }

  /// A document of version 1 has secrets in it that are sealed one by one.
  private static func resealed(_ document: [UInt8], _ kind: DocumentKind, _ box: SecretBox) -> [UInt8]? {
    guard kind.hasVersion, (try? JSONParser.parse(document))?["\(DocumentVersion.member)"] == nil else {
      return nil
    }
    return box.reseal(document: document)
  }
}
