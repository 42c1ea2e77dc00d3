// Package modelfile reads and writes the files of all kinds of models: tensors and metadata in the
// safetensors format, with a version and a checksum of all bytes.
//
// A [File] is the content. The metadata of sanflow have keys that begin with "sanflow."; all others are
// the Info of the user:
//
//	sanflow.model     the kind of model, such as "cnn"
//	sanflow.version   the version of the format: 4 of a model, 5 of a checkpoint
//	sanflow.sha256    the SHA-256 of the whole file, in hexadecimal; the 64 digits
//	                  of the sum itself count as zeros
//	sanflow.…         metadata of the kind of model, such as its shape and settings
//
// Read refuses a file of another version by its number, a file with any changed
// byte, and numbers that are not finite. Read takes memory as bytes arrive, so a
// header that promises more than the file holds costs nothing. What a File then
// claims is left to the model, which compares sizes with the tensors.
package modelfile
