import Foundation

/// A text that a test plants in order to search for it later.
package struct PlantedText {
  package let text: String

  package init(text: String) { self.text = text }

  /// The text, and its Base64 forms at each alignment within other bytes.
  package var forms: [String] {
    [text]
      + (0..<3).map { offset in
        let padded = Array(repeating: UInt8(ascii: "."), count: offset) + Array(text.utf8)
        let encoded = Data(padded.prefix(padded.count / 3 * 3)).base64EncodedString()
        return String(encoded.dropFirst(offset == 0 ? 0 : 4))
      }
  }

  /// Returns the files under a directory that contain one of these texts, with the form that was found.
  package static func found(_ texts: [PlantedText], under directory: String) -> [String] {
    let names = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
    return names.flatMap { name in
      let data = FileManager.default.contents(atPath: directory + "/" + name) ?? Data()
      return texts.flatMap(\.forms).filter { data.range(of: Data($0.utf8)) != nil }.map { "\(name): \($0)" }
    }
  }
}
