package import JSON
internal import Limits

/// The file that a download becomes. The file belongs to the client.
package struct Destination: Sendable, Equatable {
  /// The treatment of a file that exists already.
  package enum ExistingFile: String, Sendable, CaseIterable {
    /// The task fails.
    case fail
    case replace
    /// The download gets a name with a number: `name (1).ext`.
    case rename
  }

  /// An absolute path.
  package var file: String
  package var ifExists = ExistingFile.fail

  package init(file: String, ifExists: ExistingFile = .fail) {
    self.file = file
    self.ifExists = ifExists
  }

  /// The name in its directory.
  package var name: String { file.split(separator: "/").last.map { String($0) } ?? file }
  /// The path of the directory.
  package var directory: String { String(file.dropLast(name.count + 1)) }

  /// Returns a name for the file: the client's for 0, and `name (number).ext` for others. A leading dot begins no extension.
  package func name(_ number: Int) -> String {
    let name = name
    guard number > 0 else { return name }
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return "\(name) (\(number))" }
    // `.tar` belongs to the extension of a compressed archive.
    let stem =
      name[..<dot].hasSuffix(".tar") && dot > name.index(name.startIndex, offsetBy: 4)
      ? name.index(dot, offsetBy: -4) : dot
    return "\(name[..<stem]) (\(number))\(name[stem...])"
  }
}

extension Destination {
  package init(validating reader: inout ObjectReader) {
    self.init(file: "")
    if reader.value("s3") != nil {
      reader.reject("s3", "is not supported by this version; give file")
    } else if reader.isMissing("file") {
      reader.reject("file", "is required")
    }
    if let path = reader.string("file", upTo: Limits.destinationBytes.value) {
      if let fault = Self.fault(ofPath: path) { reader.reject("file", fault) }
      file = path
    }
    ifExists = reader.choice("ifExists") ?? .fail
    reader.finish()
  }

  /// Returns why a path cannot be a destination or a directory of destinations; `nil` if it can.
  package static func fault(ofPath path: String) -> String? {
    guard path.hasPrefix("/") else { return "must be an absolute path, like /srv/media/file.iso" }
    guard !path.utf8.contains(0) else { return "must have no character U+0000" }
    let names = path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for name in names {
      if name.isEmpty { return "must have no empty part; remove the doubled or final slash" }
      if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) {
        return "must have no part . or ..; write the path that it leads to"
      }
      if name.count > Limits.destinationNameBytes.value {
        return "must have parts of at most \(Limits.destinationNameBytes.value) bytes, not \(name.count)"
      }
    }
    return nil
  }
}
