internal import CLinux
internal import Glibc
package import HTTPFields
internal import Limits

/// A parser of `multipart/x-mixed-replace` streams (RFC 2046 §5.1) that arrive in pieces of any size.
///
/// Pure. The size of the pieces affects only the division of `body`. Lines may end with LF alone. Preamble and epilogue are dropped, as is
/// a part whose header block a delimiter or the end of the stream cuts off.
package struct MultipartParser {
  package enum Output {
    /// The beginning of a part, with its fields or none.
    case head(HTTPHeaders)
    /// The next bytes of the part's body. Not empty, and valid during the call only.
    case body(UnsafeRawBufferPointer)
    /// The close delimiter: no part follows. Cameras seldom send it.
    case end
  }
  private enum State {
    case preamble
    case header
    case body
    case ended
    case malformed
  }
  /// The part of a delimiter that the bytes after a body's line end match.
  private enum Match: Equatable {
    case none
    case carriageReturn
    case delimiter(Int)
    case dash
    case padding
    case lineEnd
  }
  private enum Step {
    case onward
    case mismatch
    case open
    case close
  }
  /// The maximum size of a part's header block in bytes, line ends included.
  private let maximumHeader = Limits.partHeadBytes.value
  private let maximumHeaderLines = Limits.fields.value
  /// The maximum size of a delimiter line in bytes, so that blanks after a boundary cannot fill the memory.
  private let maximumDelimiterLine = Limits.partDelimiterBytes.value

  /// The accepted beginnings of a delimiter line. After the first delimiter only its form counts, because a body may have the boundary
  /// without dashes on a line.
  private var forms: [[UInt8]]
  private var state = State.preamble
  private var headers = HTTPHeaders()
  private var (headerSize, headerLines) = (0, 0)
  /// The beginning of a line of the preamble or of a header block.
  private var line: [UInt8] = []
  private var match = Match.none
  /// The bytes of a body from earlier pieces that may belong to a delimiter.
  private var held: [UInt8] = []

  /// Whether the header block of a part was longer than `maximumHeader`. All further bytes are then ignored.
  var isMalformed: Bool { state == .malformed }

  /// Returns `nil` if the type is not multipart/x-mixed-replace, or if the boundary is missing, longer than 70 characters, or not
  /// printable ASCII. RFC 2046 §5.1.1 allows fewer characters than cameras use.
  /// - Parameter contentType: The value of the Content-Type field.
  package init?(contentType: String) {
    let type = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }
    guard HTTPHeaders.equal(Substring(type).trimmingBlanks, "multipart/x-mixed-replace"),
      let boundary = HTTPParameters.value("boundary", in: contentType),
      (1...70).contains(boundary.utf8.count), boundary.utf8.last != 0x20,
      boundary.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") })
    else { return nil }
    // Many servers write the boundary without the two dashes before it.
    forms = [Array("--\(boundary)".utf8), Array(boundary.utf8)]
  }

  /// Parses the next bytes of the stream and emits the completed pieces, in order.
  package mutating func add(_ bytes: UnsafeRawBufferPointer, _ emit: (Output) -> Void) {
    var rest = bytes
    while !rest.isEmpty {
      switch state {
      case .preamble, .header: rest = addLine(rest, emit)
      case .body: rest = addBody(rest, emit)
      case .ended, .malformed: return
      }
    }
  }

  /// Ends the stream, which may be within a part: emits the bytes that were held back.
  package mutating func finish(_ emit: (Output) -> Void) {
    switch state {
    case .preamble, .header:
      let last = line.withUnsafeBytes { step(ofLine: $0) }
      if last == .close { emit(.end) }
    case .body:
      if !isPastBoundary { giveHeld(emit) }
    case .ended, .malformed: return
    }
    state = .ended
  }
}

// Preamble and header blocks: line by line.
extension MultipartParser {
  /// Parses bytes up to the next line end, and returns the rest.
  private mutating func addLine(
    _ bytes: UnsafeRawBufferPointer, _ emit: (Output) -> Void
  ) -> UnsafeRawBufferPointer {
    let lineFeed = Self.place(of: 0x0A, in: bytes, from: 0)
    let end = lineFeed.map { $0 + 1 } ?? bytes.count
    let rest = UnsafeRawBufferPointer(rebasing: bytes[end...])
    // A line that is too short for a delimiter with its line end is skipped.
    if state == .preamble, line.isEmpty, lineFeed != nil, end <= forms.last?.count ?? 0 { return rest }
    if state == .header {
      headerSize += end
      if lineFeed != nil { headerLines += 1 }
      guard headerSize <= maximumHeader, headerLines <= maximumHeaderLines else {
        state = .malformed
        line = []
        return bytes
      }
    }
    // In the preamble, one byte more than the maximum is enough to recognise a line that is too long; the rest is discarded.
    let most = state == .header ? end : min(end, maximumDelimiterLine + 1 - line.count)
    let piece = UnsafeRawBufferPointer(rebasing: bytes[..<most])
    guard lineFeed != nil else {
      line.append(contentsOf: piece)
      return rest
    }
    guard !line.isEmpty else {
      endLine(piece, emit)
      return rest
    }
    var whole = line
    line = []
    whole.append(contentsOf: piece)
    whole.withUnsafeBytes { endLine($0, emit) }
    return rest
  }

  private mutating func endLine(_ line: UnsafeRawBufferPointer, _ emit: (Output) -> Void) {
    switch step(ofLine: line) {
    case .open: beginHeader()
    case .close: close(emit)
    case .onward, .mismatch: if state == .header { addHeaderLine(line, emit) }
    }
  }

  private mutating func addHeaderLine(_ line: UnsafeRawBufferPointer, _ emit: (Output) -> Void) {
    let text = ResponseHeadParser.withoutLineEnd(line)
    guard text.isEmpty else { return headers.append(line: text) }
    emit(.head(headers))
    state = .body
    // If the body is empty, the blank line's end also precedes the delimiter.
    match = .delimiter(0)
  }

  private mutating func beginHeader() {
    state = .header
    headers.removeAll()
    (headerSize, headerLines) = (0, 0)
  }

  private mutating func close(_ emit: (Output) -> Void) {
    state = .ended
    emit(.end)
  }

  private static func has(_ line: UnsafeRawBufferPointer, prefix: [UInt8]) -> Bool {
    guard line.count >= prefix.count else { return false }
    for place in prefix.indices where line[place] != prefix[place] { return false }
    return true
  }

  /// Returns whether the line is a delimiter. The first delimiter determines the form.
  private mutating func step(ofLine line: UnsafeRawBufferPointer) -> Step {
    guard line.count <= maximumDelimiterLine else { return .mismatch }
    for form in forms where Self.has(line, prefix: form) {
      var end = form.count
      while end < line.count, line[end] == 0x20 || line[end] == 0x09 { end += 1 }
      if end < line.count, line[end] == 0x0D { end += 1 }
      let isOpen = end == line.count - 1 && line[end] == 0x0A
      let dash = UInt8(ascii: "-")
      let isClose = line.count >= form.count + 2 && line[form.count] == dash && line[form.count + 1] == dash
      guard isOpen || isClose else { continue }
      if forms.count > 1 { forms = [form] }
      return isOpen ? .open : .close
    }
    return .mismatch
  }
}

// Bodies: byte by byte within a possible delimiter, otherwise from one line feed to the next.
extension MultipartParser {
  /// Parses bytes up to the end of a delimiter, and returns the rest.
  private mutating func addBody(
    _ bytes: UnsafeRawBufferPointer, _ emit: (Output) -> Void
  ) -> UnsafeRawBufferPointer {
    var index = 0
    var candidate = 0  // The start of a possible delimiter in these bytes.
    while index < bytes.count {
      if match == .none {
        guard let found = Self.lineEnd(in: bytes, from: index) else { break }
        candidate = found
        match = bytes[found] == 0x0A ? .delimiter(0) : .carriageReturn
        index = found + 1
        continue
      }
      if match == .delimiter(0), Self.has(UnsafeRawBufferPointer(rebasing: bytes[index...]), prefix: forms[0])
      {
        match = .delimiter(forms[0].count)
        index += forms[0].count
        continue
      }
      let isTooLong = held.count + index - candidate > maximumDelimiterLine
      switch isTooLong ? .mismatch : step(over: bytes[index]) {
      case .onward: index += 1
      case .mismatch:  // Only this byte can begin another candidate.
        giveHeld(emit)
        match = .none
      case let end:
        give(bytes[..<candidate], emit)
        held.removeAll(keepingCapacity: true)
        match = .none
        if end == .open { beginHeader() } else { close(emit) }
        return UnsafeRawBufferPointer(rebasing: bytes[(index + 1)...])
      }
    }
    if match == .none { candidate = bytes.count }
    give(bytes[..<candidate], emit)
    held.append(contentsOf: bytes[candidate...])
    return UnsafeRawBufferPointer(rebasing: bytes[bytes.count...])
  }

  private mutating func step(over byte: UInt8) -> Step {
    switch (match, byte) {
    case (.carriageReturn, 0x0A): match = .delimiter(0)
    case (.delimiter(let count), _) where count < forms[0].count:
      guard byte == forms[0][count] else { return .mismatch }
      match = .delimiter(count + 1)
    case (.delimiter, UInt8(ascii: "-")): match = .dash
    case (.dash, UInt8(ascii: "-")): return .close
    case (.delimiter, 0x0A), (.padding, 0x0A), (.lineEnd, 0x0A): return .open
    case (.delimiter, 0x0D), (.padding, 0x0D): match = .lineEnd
    case (.delimiter, 0x20), (.delimiter, 0x09), (.padding, 0x20), (.padding, 0x09): match = .padding
    default: return .mismatch
    }
    return .onward
  }

  /// Whether the held bytes contain a complete boundary.
  private var isPastBoundary: Bool {
    switch match {
    case .none, .carriageReturn: false
    case .delimiter(let count): count == forms[0].count
    case .dash, .padding, .lineEnd: true
    }
  }

  private mutating func giveHeld(_ emit: (Output) -> Void) {
    guard !held.isEmpty else { return }
    held.withUnsafeBytes { emit(.body($0)) }
    held.removeAll(keepingCapacity: true)
  }

  private func give(_ bytes: Slice<UnsafeRawBufferPointer>, _ emit: (Output) -> Void) {
    if !bytes.isEmpty { emit(.body(UnsafeRawBufferPointer(rebasing: bytes))) }
  }

  /// Returns the place of the next CRLF or LF, or of a CR at the end of the bytes.
  private static func lineEnd(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard let lineFeed = place(of: 0x0A, in: bytes, from: start) else {
      return bytes.last == 0x0D ? bytes.count - 1 : nil
    }
    return lineFeed > start && bytes[lineFeed - 1] == 0x0D ? lineFeed - 1 : lineFeed
  }

  static func place(of byte: UInt8, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard let base = bytes.baseAddress, let found = memchr(base + start, Int32(byte), bytes.count - start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }
}
