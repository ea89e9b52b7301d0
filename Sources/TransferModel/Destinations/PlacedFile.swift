/// The properties by which Ferry recognizes a file that it has written. The device is not among them, because its number may differ after
/// a restart of the machine.
package struct FileMark: Sendable, Equatable {
  package let inode: UInt64
  package let size: Int64
  /// The time of the last change of the content, in nanoseconds since 1970.
  package let modifiedAt: Int64

  package init(inode: UInt64, size: Int64, modifiedAt: Int64) {
    self.inode = inode
    self.size = size
    self.modifiedAt = modifiedAt
  }
}

/// A download's file at its destination.
package struct PlacedFile: Sendable, Equatable {
  /// The absolute path.
  package let file: String
  package let mark: FileMark

  package init(file: String, mark: FileMark) {
    self.file = file
    self.mark = mark
  }
}

/// The next step with one name of a destination. Pure.
package enum NameStep: Sendable, Equatable {
  /// Rename the temporary file to the name.
  case rename(mayReplace: Bool)
  /// The file of that name is the download, which an earlier service has renamed.
  case alreadyOwn
  /// Try the next name.
  case tryNext
  /// The task fails, because the file exists.
  case refuse

  /// - Parameters:
  ///   - found: the file of that name; `nil` if there is none.
  ///   - own: the mark of the download's temporary file; `nil` before it is written.
  package init(_ rule: Destination.ExistingFile, found: FileMark?, own: FileMark?) {
    switch (found, rule) {
    case (nil, .replace): self = .rename(mayReplace: true)
    case (nil, _): self = .rename(mayReplace: false)
    case (let found?, _) where found == own: self = .alreadyOwn
    case (_, .replace): self = .rename(mayReplace: true)
    case (_, .rename): self = .tryNext
    case (_, .fail): self = .refuse
    }
  }
}
